// Runs both ceremonies of passkeys by the browser's own means. A form with `data-passkey`, the address of the options, is sent with the browser's
// answer in the field `answer`, or leads to `data-confirm` for a session too old. Without passkeys it stays hidden; `.problem` appears if none comes.
const isAble =
  'PublicKeyCredential' in window &&
  !/:|^[\d.]+$/.test(location.hostname) && // passkeys belong to names
  ['parseCreationOptionsFromJSON', 'parseRequestOptionsFromJSON'].every((name) => name in PublicKeyCredential);
let waiting = new AbortController();

/** @param {'conditional' | undefined} mediation - `conditional`: passkeys are offered in the field for the name */
async function send(form, mediation) {
  waiting.abort();
  waiting = new AbortController();
  const { signal } = waiting;
  const response = await fetch(form.dataset.passkey, { method: 'POST', signal });
  if (response.status === 403 && form.dataset.confirm) return location.assign(form.dataset.confirm);
  if (!response.ok) throw new Error(`status ${response.status}`);
  const options = await response.json();
  const credential = options.user
    ? await navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
        signal,
      })
    : await navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
        mediation,
        signal,
      });
  form.elements.answer.value = JSON.stringify(credential);
  form.submit();
}

async function offer(form) {
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const problem = form.querySelector('.problem');
    problem.hidden = true;
    await send(form).catch(() => {
      problem.hidden = false;
    });
  });
  const isConditional =
    'conditional' in form.dataset && (await PublicKeyCredential.isConditionalMediationAvailable?.());
  if (isConditional) await send(form, 'conditional').catch(() => undefined);
}

if (isAble) for (const form of document.querySelectorAll('form[data-passkey]')) void offer(form);
