// The place in the page that the reader wanted: browsers keep what stands behind "#" through the redirect after signing in.
document.querySelector('#sign-in').action += location.hash;
