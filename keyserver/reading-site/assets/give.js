// Copies the link, or hands it to whatever sends messages here.
const [link, copy, share] = ['#link', '#copy', '#share'].map((name) => document.querySelector(name));

copy.hidden = !navigator.clipboard;
copy.addEventListener('click', async () => {
  link.select();
  await navigator.clipboard.writeText(link.value);
  copy.textContent = copy.dataset.done;
});

share.hidden = !navigator.share;
share.addEventListener('click', () => navigator.share({ url: link.value }).catch(() => undefined));
