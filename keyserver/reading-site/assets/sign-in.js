// The place in the page that the reader wanted: browsers keep what stands behind "#" through the redirect after signing in.
for (const form of document.forms) {
  form.action += location.hash;
  // The link of the mail may be opened elsewhere. No server is to know, on the way to keys, what is read.
  const { to, place } = form.elements;
  if (place && to.value !== '/-/keys') place.value = location.hash;
}
for (const link of document.querySelectorAll('a[href*="?to="]')) {
  if (link.id !== 'openid') link.href += location.hash;
  // The hash does not pass another site: it comes back by a cookie.
  else if (location.hash) link.href += `&place=${encodeURIComponent(location.hash)}`;
}

// A code that is sent twice, by itself and by a tap, would be refused as used.
let sent = Number.NEGATIVE_INFINITY;
addEventListener('submit', (event) => {
  if (event.timeStamp - sent < 5000) event.preventDefault();
  else sent = event.timeStamp;
});

const code = document.querySelector('#code');
code?.addEventListener('input', () => {
  if (/^\s*(?:\d\s*){6}$/.test(code.value)) code.form.requestSubmit();
});

// Mails take a while; the server has its own limits.
const again = document.querySelector('[data-wait] button');
if (again) {
  const text = again.textContent;
  let left = 60;
  const count = () => {
    again.disabled = left > 0;
    again.textContent = left > 0 ? again.form.dataset.wait.replace('#', left) : text;
    if (left-- > 0) setTimeout(count, 1000);
  };
  count();
}
