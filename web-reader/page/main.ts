/**
 * Runs in front of a page's own scripts: docs/spec/web-reader.md, "The script in front". The page sees no service worker, and can register and remove
 * none, as on a host that refuses them; and what browsers keep from workers is done here: `<object>`, `<embed>`, and links with `download`.
 */
import { DOWNLOAD, RELOADED } from '../names.ts';

type View = Window & typeof globalThis;
type Embedding = HTMLObjectElement | HTMLEmbedElement;

const HERE = `${location.origin}/`;
const LINK = 'a[download],area[download]';
/** Media types that a frame shows; others it would save. */
const FRAMED = /^(?:text|audio|video)\/|[/+](?:pdf|xml|json)\b/;
/** The page may replace these later. */
const { fetch: ask } = window;
const { click } = HTMLElement.prototype;

function prepare(view: View): void {
  const { document: page, ServiceWorkerContainer: container, HTMLElement: element } = view;
  hideWorker(container?.prototype);
  leaveOut(view.CacheStorage?.prototype, 'keys', (name) => /^wispr-/.test(name));
  leaveOut(view.IDBFactory?.prototype, 'databases', ({ name }) => name === 'wispr');
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
}

function hideWorker(container: ServiceWorkerContainer | undefined): void {
  if (!container) return;
  const never = new Promise(() => undefined);
  Object.defineProperties(container, {
    controller: { get: () => null },
    ready: { get: () => never },
    getRegistration: { value: async () => undefined },
    getRegistrations: { value: async () => [] },
    register: { value: async () => Promise.reject(new TypeError('Failed to register a ServiceWorker: status 403')) },
  });
}

/** Leaves what is the reader's own out of a list: pages that clear their storage go through it. */
function leaveOut<Name extends string, Item>(
  from: Record<Name, () => Promise<Item[]>> | undefined,
  name: Name,
  isOwn: (item: Item) => boolean,
): void {
  const list = from?.[name];
  if (!from || !list) return;
  from[name] = async function listed(this: unknown) {
    return (await list.call(this as typeof from)).filter((item) => !isOwn(item));
  };
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
  if (node.matches?.('object,embed')) replace(node as Embedding).catch(() => undefined);
  else for (const each of node.querySelectorAll?.('object,embed') ?? []) replaceIn(each);
}

async function replace(old: Embedding): Promise<void> {
  const address = 'data' in old ? old.data : old.src;
  if (!address.startsWith(HERE)) return;
  const { ok, headers } = await ask(address, { method: 'HEAD' });
  const type = headers.get('content-type') ?? '';
  const isPicture = type.startsWith('image/');
  if (!ok || !(isPicture || FRAMED.test(type)) || !old.isConnected) return;
  const shown = old.ownerDocument.createElement(isPicture ? 'img' : 'iframe');
  for (const { name, value } of old.attributes) if (!/^(?:data|src|type)$/.test(name)) shown.setAttribute(name, value);
  shown.src = address;
  old.replaceWith(shown);
}

/** Leads to where the worker gives the document to be saved. @returns whether `target` is a link that saves one of this origin */
function save(target: EventTarget): boolean {
  const link = target as HTMLAnchorElement;
  if (!link.matches?.(LINK) || !link.href.startsWith(HERE)) return false;
  const { pathname, search, download, ownerDocument } = link;
  const way = ownerDocument.createElement('a');
  way.href = `${DOWNLOAD}?${new URLSearchParams({ path: pathname + search, name: download })}`;
  way.referrerPolicy = 'same-origin'; // whatever the page has
  click.call(way);
  return true;
}

prepare(window);
document.currentScript?.remove();
try {
  sessionStorage.removeItem(RELOADED);
} catch {
  // The page has none.
}
