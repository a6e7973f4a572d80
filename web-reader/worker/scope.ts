/** What the worker uses of its global scope. TypeScript has these in a library that cannot stand beside that of pages. */

interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

interface WorkerScope {
  readonly location: Location;
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
}

export const scope = globalThis as unknown as WorkerScope;
