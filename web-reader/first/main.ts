/**
 * Stands in front of the first page, which the reading site opened: docs/spec/web-reader.md, "The first page". Behind the page, a frame installs the
 * worker and has it fetch keys; then the worker answers for this page too.
 */
import { hideReader } from '../hide-reader.ts';
import { BEHIND_PAGE, STRICTLY } from '../names.ts';

const script = document.currentScript;
const { src, integrity } = script?.dataset ?? {};

function begin(): void {
  const { serviceWorker: workers } = navigator;
  const frame = Object.assign(document.createElement('iframe'), { hidden: true, src: BEHIND_PAGE });
  workers.addEventListener('controllerchange', () => {
    frame.remove();
    if (!src) return;
    const sheet = Object.assign(document.createElement('script'), { src, integrity });
    sheet.dataset.first = '';
    document.head.append(sheet);
  });
  // Its reader may have typed something.
  workers.addEventListener('message', ({ ports }) => ports[0]?.postMessage(''));
  workers.startMessages();
  document.addEventListener('securitypolicyviolation', ({ blockedURI }) => {
    // biome-ignore lint/suspicious/noDocumentCookie: not every browser has a cookie store
    if (blockedURI.endsWith(BEHIND_PAGE)) document.cookie = STRICTLY;
  });
  document.documentElement.append(frame);
}

if (isSecureContext) {
  hideReader(window);
  addEventListener('load', begin);
}
script?.remove();
