// The place in the page that the reader wanted: browsers keep what stands behind "#" through the redirect after signing in.
for (const form of document.querySelectorAll('form')) form.action += location.hash;
// On the way to keys, joining leads on as signing in does.
if (location.pathname === '/-/keys') document.querySelector('#join').href = `/-/join?to=/-/keys${location.hash}`;
