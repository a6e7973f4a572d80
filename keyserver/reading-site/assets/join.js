// Takes the invitation from behind the "#", which never leaves the browser by itself, and out of the address bar.
const [invited, typed] = ['#invited', '#typed'].map((name) => document.querySelector(name));
const [password, show] = ['#password', '#show'].map((name) => document.querySelector(name));

/** Behind the code stands the publisher, which only a Reader compares. */
async function takeInvitation() {
  if (location.hash.length < 2) return;
  // On the way to keys, with what was wanted.
  if (location.hash.includes('=')) {
    document.querySelector('#join').action += location.hash;
    return;
  }
  const invitation = location.hash.slice(1);
  const [code] = invitation.split('.');
  history.replaceState(null, '', location.pathname + location.search);
  invited.querySelector('[name=code]').value = code;
  const link = `${location.origin + location.pathname}#${invitation}`;
  for (const field of invited.querySelectorAll('#link, #in-reader [name=link]')) field.value = link;
  invited.hidden = false;
  typed.hidden = true;
  if (new URLSearchParams(location.search).has('reader')) invited.querySelector('#reader').open = true;
  await nameInvited(code);
}

/** Whose the invitation is; it is not used up by this. */
async function nameInvited(code) {
  const response = await fetch('/-/invitation', { method: 'POST', body: new URLSearchParams({ code }) });
  const [isRefused, isFull] = [response.status === 403, response.status === 409];
  invited.querySelector('#refused').hidden = !isRefused;
  invited.querySelector('#full').hidden = !isFull;
  invited.querySelector('#choices').hidden = isRefused || isFull;
  const { name = '', again = false } = response.ok ? await response.json() : {};
  invited.querySelector('#once').hidden = again;
  invited.querySelector('#name').textContent = name;
  invited.querySelector('#as').hidden = name === '';
  if (name !== '' && 'mailed' in invited.dataset) invited.querySelector('#here button').textContent = `Read as ${name}`;
}

void takeInvitation();
// A second link opened in the same tab changes nothing but the part behind the "#".
addEventListener('hashchange', takeInvitation);

document.querySelector('#copy').addEventListener('click', async () => {
  const link = document.querySelector('#link');
  link.select();
  await navigator.clipboard.writeText(link.value);
  document.querySelector('#copy').textContent = 'Copied';
});

for (const element of [show, document.querySelector('#show-label')]) element.hidden = false;
show.addEventListener('change', () => {
  password.type = show.checked ? 'text' : 'password';
});
