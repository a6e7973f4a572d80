// Takes the invitation code from behind the "#", which never leaves the browser by itself, and out of the address bar.
const code = document.querySelector('#code');
const password = document.querySelector('#password');
const show = document.querySelector('#show');

if (location.hash.length > 1) {
  code.value = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
}
(code.value ? password : code).focus();

for (const element of [show, document.querySelector('#show-label')]) element.hidden = false;
show.addEventListener('change', () => {
  password.type = show.checked ? 'text' : 'password';
});
