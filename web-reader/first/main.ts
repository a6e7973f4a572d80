/**
 * Stands in front of the first page, which the reading site opened: docs/spec/web-reader.md, "The first page". Behind the page, a frame installs the
 * worker and has it fetch keys; then the worker answers for this page too.
 */

import { BEHIND_PAGE, READING_SITE_PAGES, STRICT_COOKIE } from '../../core/site/path.ts';
import { hideReader } from '../hide-reader.ts';
import { AHEAD } from '../names.ts';
import { openAsTold, openBehind } from '../vault-frame.ts';

const script = document.currentScript;
const { src, integrity } = script?.dataset ?? {};
/** Getter, taken before it is hidden. */
const controllerOf = Object.getOwnPropertyDescriptor(ServiceWorkerContainer.prototype, 'controller')?.get;

function begin(): void {
  const frame = openBehind(origin + BEHIND_PAGE); // resolved here, whatever base the page has
  const { serviceWorker: workers } = navigator;
  workers.addEventListener('controllerchange', () => {
    frame.remove();
    controllerOf?.call(workers)?.postMessage({ [AHEAD]: [location.href, ...whatBlocks(), ...pictures()] });
    // A policy that lets this script run, wherever it stands, may let everything run that it loads.
    if (!src?.startsWith(`${READING_SITE_PAGES}/`)) return;
    const sheet = Object.assign(document.createElement('script'), { src: origin + src, integrity });
    sheet.dataset.first = '';
    document.head.append(sheet);
  });
  document.addEventListener('securitypolicyviolation', ({ blockedURI }) => {
    // biome-ignore lint/suspicious/noDocumentCookie: not every browser has a cookie store
    if (blockedURI.endsWith(BEHIND_PAGE)) document.cookie = `${STRICT_COOKIE}=yes; path=/; samesite=lax`;
  });
}

/** Addresses of style sheets and scripts, without which most pages of the site show nothing. */
function whatBlocks(): string[] {
  const found = document.querySelectorAll<HTMLLinkElement & HTMLScriptElement>('link[rel=stylesheet], script[src]');
  return Array.from(found, ({ href, src }) => href ?? src);
}

/** Addresses of the pictures on show: without them, the page would be in pieces when it is opened again without a network. */
function pictures(): string[] {
  return Array.from(document.images, ({ currentSrc }) => currentSrc).filter(Boolean);
}

script?.remove();
// Left out in a page that its publisher has sandboxed, which has no worker.
if (isSecureContext && origin !== 'null') {
  // A form may have brought the browser here: loading the page again asks for it.
  history.replaceState(history.state, '', location.href);
  hideReader(window);
  openAsTold();
  addEventListener('load', begin);
}
