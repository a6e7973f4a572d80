// Goes on by itself, with the place in the page that the reader wanted: browsers keep what stands behind "#" up to here.
const [form] = document.forms;
if (!form.action.includes('#')) form.action += location.hash;
form.submit();
