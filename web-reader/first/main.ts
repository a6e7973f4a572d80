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
  const { serviceWorker: workers } = navigator;
  // The frame of another page, or of the one before, may have been first: then no event tells.
  if (controllerOf?.call(workers)) {
    comeIn();
    return;
  }
  const frame = openBehind(origin + BEHIND_PAGE); // resolved here, whatever base the page has
  workers.addEventListener('controllerchange', () => {
    frame.remove();
    comeIn();
  });
  document.addEventListener('securitypolicyviolation', ({ blockedURI }) => {
    // biome-ignore lint/suspicious/noDocumentCookie: not every browser has a cookie store
    if (blockedURI.endsWith(BEHIND_PAGE)) document.cookie = `${STRICT_COOKIE}=yes; path=/; samesite=lax`;
  });
}

/** Has the worker keep this page, and adds the sheet to it. */
function comeIn(): void {
  controllerOf
    ?.call(navigator.serviceWorker)
    ?.postMessage({ [AHEAD]: [location.href, ...whatBlocks(), ...pictures()] });
  // A policy that lets this script run, wherever it stands, may let everything run that it loads.
  if (!src?.startsWith(`${READING_SITE_PAGES}/`)) return;
  const sheet = Object.assign(document.createElement('script'), { src: origin + src, integrity });
  sheet.dataset.first = '';
  document.head.append(sheet);
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
