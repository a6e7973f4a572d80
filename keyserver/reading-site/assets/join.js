// Takes the invitation from behind the "#", which never leaves the browser by itself, and out of the address bar.
const [invited, typed] = ['#invited', '#typed'].map((name) => document.querySelector(name));
const [password, show] = ['#password', '#show'].map((name) => document.querySelector(name));

/** Takes the invitation. The publisher stands behind the code: only a Reader compares it. */
async function takeInvitation() {
  // The hash has what was wanted, on the way to keys.
  if (location.hash.includes('=')) {
    document.querySelector('#join').action += location.hash;
    return;
  }
  // Kept with the window's history entry, for when the page is loaded again.
  const invitation = location.hash.slice(1) || history.state;
  if (!invitation) return;
  const [code] = invitation.split('.');
  history.replaceState(invitation, '', location.pathname + location.search);
  invited.querySelector('[name=code]').value = code;
  const link = `${location.origin + location.pathname}#${invitation}`;
  for (const field of invited.querySelectorAll('#link, #in-reader [name=link]')) field.value = link;
  invited.hidden = false;
  typed.hidden = true;
  if (new URLSearchParams(location.search).has('reader')) invited.querySelector('#reader').open = true;
  await nameInvited(code);
}

/** Names the person and the plans of an invitation; it is not used up by this. */
async function nameInvited(code) {
  const response = await fetch('/-/invitation', { method: 'POST', body: new URLSearchParams({ code }) });
  const [isRefused, isFull] = [response.status === 403, response.status === 409];
  invited.querySelector('#refused').hidden = !isRefused;
  invited.querySelector('#full').hidden = !isFull;
  invited.querySelector('#choices').hidden = isRefused || isFull;
  const { as, used } = invited.dataset;
  if (isRefused) document.title = invited.querySelector('h1').textContent = used;
  const another = invited.querySelector('#another');
  if (another) another.hidden = isRefused;
  if (!response.ok) return;
  const { name, again = false, own = false, includes } = await response.json();
  if (includes) invited.querySelector('#includes').textContent = includes;
  invited.querySelector('#once').hidden = again;
  invited.querySelector('#name').textContent = name;
  invited.querySelector('#as').hidden = false;
  if (as) invited.querySelector('#here button').textContent = as.replace('#', () => name);
  if (another) another.hidden = own;
}

void takeInvitation();
// A second link opened in the same tab changes nothing but the part behind the "#".
addEventListener('hashchange', takeInvitation);

document.querySelector('#copy').addEventListener('click', async ({ target }) => {
  const link = document.querySelector('#link');
  link.select();
  await navigator.clipboard.writeText(link.value);
  target.textContent = target.dataset.done;
});

for (const element of [show, document.querySelector('#show-label')]) element.hidden = false;
show.addEventListener('change', () => {
  password.type = show.checked ? 'text' : 'password';
});
