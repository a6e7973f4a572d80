/** Keeps the reader out of sight of a page's scripts, which a site may have to remove workers of its own. It keeps no hostile script from them. */

/** Global object of a window. */
export type View = Window & typeof globalThis;

/** Shows the page no service worker, as on a host that refuses them, and none of the reader's caches and databases. */
export function hideReader(view: View): void {
  const never = new Promise(() => undefined);
  Object.defineProperties(view.ServiceWorkerContainer.prototype, {
    controller: { get: () => null },
    ready: { get: () => never },
    getRegistration: { value: async () => undefined },
    getRegistrations: { value: async () => [] },
    register: { value: async () => Promise.reject(new TypeError('refused (403)')) },
  });
  leaveOut(view.CacheStorage, 'keys', (name) => /^wispr-/.test(name));
  leaveOut(view.IDBFactory, 'databases', ({ name }) => name === 'wispr');
}

/** Leaves what is the reader's own out of a list: pages that clear their storage go through it. */
function leaveOut<Name extends string, Item>(
  { prototype }: { readonly prototype: Record<Name, () => Promise<Item[]>> },
  name: Name,
  isOwn: (item: Item) => boolean,
): void {
  const list = prototype[name];
  prototype[name] = async function listed(this: unknown) {
    return (await list.call(this as typeof prototype)).filter((item) => !isOwn(item));
  };
}
