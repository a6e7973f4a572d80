// Puts the secret from behind the "#", which never leaves the browser by itself, into the form.
function takeSecret() {
  const secret = location.hash.slice(1);
  document.querySelector('#secret').value = secret;
  document.querySelector('#paste').hidden = secret !== '';
}

takeSecret();
addEventListener('hashchange', takeSecret);
