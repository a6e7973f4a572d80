// Makes a code at one press, and gives the Reader on this computer the link with it. The Reader asks before it connects.
const button = document.querySelector('#connect-reader');

button?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const response = await fetch(button.action, { method: 'POST', body: new URLSearchParams({ as: 'json' }) });
  if (!response.headers.get('content-type')?.startsWith('application/json')) {
    location.assign('/-/confirm'); // signed out meanwhile, or too long ago
    return;
  }
  const { link } = await response.json();
  const form = Object.assign(document.createElement('form'), { method: 'post', action: button.dataset.reader });
  form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'link', value: link }));
  document.body.append(form);
  form.submit();
});

// Leads back to the page from which the reader came, which this server does not know.
if (document.referrer && new URL(document.referrer).origin !== location.origin)
  document.querySelector('#back').addEventListener('click', (event) => {
    event.preventDefault();
    history.back();
  });
