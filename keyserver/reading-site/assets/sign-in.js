// The place in the page that the reader wanted: browsers keep what stands behind "#" through the redirect after signing in.
for (const form of document.forms) form.action += location.hash;
// Not through another site: it comes back by a cookie.
const elsewhere = document.querySelector('#openid');
if (elsewhere && location.hash) elsewhere.href += `&place=${encodeURIComponent(location.hash)}`;
// On the way to keys, joining leads on as signing in does.
if (location.pathname === '/-/keys') document.querySelector('#join').href = `/-/join?to=/-/keys${location.hash}`;
