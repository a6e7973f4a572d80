/**
 * Runs in front of a page's own scripts: docs/spec/web-reader.md, "The script in front". The page sees no service worker, and can register and remove
 * none, as on a host that refuses them; and what browsers keep from workers is done here: `<object>`, `<embed>`, and links with `download`.
 */
import { CONFIRMED_HEADER } from '../../reading/confirmation.ts';
import { hideReader, type View } from '../hide-reader.ts';
import { RELOADED, SAVED_AS } from '../names.ts';
import { openAsTold } from '../vault-frame.ts';

type Embedding = HTMLObjectElement | HTMLEmbedElement;

const HERE = `${location.origin}/`;
const EMBEDDINGS = 'object,embed';
/** Milliseconds after which a frame that saves something is removed: by then it has begun. */
const SAVING = 60_000;
/** Media types that a frame shows; others it would save. */
const FRAMED = /^(?:text|audio|video)|(?:pdf|xml|json)\b/;
/** Kept: the page may replace it later. */
const { fetch: ask } = window;

function prepare(view: View): void {
  const { document: page, HTMLElement: element, XMLHttpRequest: request } = view;
  hideReader(view);
  const { send } = request.prototype;
  request.prototype.send = function sendOn(body) {
    send.call(this, body);
    if (this.readyState !== 4 || !this.responseURL.startsWith(HERE)) return;
    if (this.getResponseHeader(CONFIRMED_HEADER) && !this.getResponseHeader('wispr-refusal')) return;
    // Chromium keeps synchronous requests from workers: an answer of the host is no data.
    throw new DOMException('not answered', 'NetworkError');
  };
  const { click } = element.prototype;
  element.prototype.click = function open() {
    if (this.isConnected || !save(this)) click.call(this);
  };
  view.addEventListener('click', (event) => {
    if (!event.defaultPrevented && event.composedPath().some(save)) event.preventDefault();
  });
  page.addEventListener('load', ({ target }) => prepareFrame(target as HTMLIFrameElement), true);
  new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes)
      for (const node of type === 'attributes' ? [target] : addedNodes) replaceIn(node as Element);
  }).observe(page, { subtree: true, childList: true, attributes: true, attributeFilter: ['data', 'src'] });
  replaceIn(page.documentElement);
}

/** Frames without an address of their own are filled by the page. */
function prepareFrame({ contentWindow }: HTMLIFrameElement): void {
  try {
    if (contentWindow?.location.protocol === 'about:') prepare(contentWindow as View);
  } catch {
    // Frame of another origin.
  }
}

/** Requests of these elements never reach a worker. */
function replaceIn(node: Element): void {
  if (node.matches?.(EMBEDDINGS)) replace(node as Embedding).catch(() => undefined);
  else for (const each of node.querySelectorAll?.(EMBEDDINGS) ?? []) replaceIn(each);
}

async function replace(old: Embedding): Promise<void> {
  const address = 'data' in old ? old.data : old.src;
  if (!address.startsWith(HERE)) return;
  const { ok, headers } = await ask(address, { method: 'HEAD' });
  const type = headers.get('content-type') ?? '';
  const isPicture = /^image\/(?!svg)/.test(type); // a drawing may have links
  if (!ok || !(isPicture || FRAMED.test(type)) || !old.isConnected) return;
  const shown = old.ownerDocument.createElement(isPicture ? 'img' : 'iframe');
  for (const { name, value } of old.attributes) shown.setAttribute(name, value);
  shown.src = address;
  old.replaceWith(shown);
}

/** Has the worker give a document as one to be saved. @returns whether `target` is a link that saves one of this origin */
function save(target: EventTarget): boolean {
  const { href, pathname, download } = target as HTMLAnchorElement;
  if (!(target as Element).matches?.('[download]') || !`${href}`.startsWith(HERE)) return false;
  // Frame of its own, for the page is not left: several can be saved at once.
  const frame = document.createElement('iframe');
  frame.hidden = true;
  frame.referrerPolicy = 'same-origin'; // overrides the page's
  frame.src = `${pathname}?${new URLSearchParams({ [SAVED_AS]: download })}`;
  document.body.append(frame);
  document.addEventListener('securitypolicyviolation', ({ blockedURI }) => {
    if (blockedURI === frame.src) location.href = blockedURI;
  });
  setTimeout(() => frame.remove(), SAVING);
  return true;
}

openAsTold();
prepare(window);
document.currentScript?.remove();
sessionStorage.removeItem(RELOADED);
