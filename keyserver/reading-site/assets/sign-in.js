// The place in the page that the reader wanted: browsers keep what stands behind "#" through the redirect after signing in.
document.querySelector('#sign-in').action += location.hash;
// On the way to keys, what was wanted stands behind "#" too.
const wanted = new URLSearchParams(location.hash.slice(1)).get('to');
if (wanted !== null) document.querySelector('#join').search = new URLSearchParams({ to: wanted });
