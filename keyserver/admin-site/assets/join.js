// Takes the code out of the address bar.
const code = location.hash.slice(1);
if (code !== '') {
  history.replaceState(null, '', location.pathname);
  document.getElementById('code').value = code;
}
