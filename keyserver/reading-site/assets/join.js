// Takes the invitation code from behind the "#", which never leaves the browser by itself, and out of the address bar.
const code = document.querySelector('#code');
const password = document.querySelector('#password');
const show = document.querySelector('#show');

function takeCode() {
  if (location.hash.length < 2) return;
  code.value = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  password.focus();
}

takeCode();
// A second link opened in the same tab changes nothing but the part behind the "#".
addEventListener('hashchange', () => {
  document.querySelector('#problem')?.remove();
  takeCode();
});

for (const element of [show, document.querySelector('#show-label')]) element.hidden = false;
show.addEventListener('change', () => {
  password.type = show.checked ? 'text' : 'password';
});
