/** What the worker uses of its global scope. TypeScript has these in a library that cannot stand beside that of pages. */

interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

interface WorkerScope {
  readonly location: Location;
  /** What the origin put in front of this program: which site it reads, by whom, and at which vault its keys are had. Pages cannot reach it. */
  readonly wisprSite: { readonly reading: string; readonly root: string; readonly site: string };
  readonly registration: ServiceWorkerRegistration;
  addEventListener(type: 'install', listener: () => void): void;
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
}

export const scope = globalThis as unknown as WorkerScope;
