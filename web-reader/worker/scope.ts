/** What the worker uses of its global scope. TypeScript has these in a library that cannot stand beside that of pages. */

interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

interface WorkerScope {
  readonly location: Location;
  /** What the origin put in front of this program: which site it reads, and by whom. Pages cannot reach it. */
  readonly wisprSite: {
    readonly site: string;
    readonly root: string;
    /** The page that gets keys. */
    readonly keys: string;
    /** Where this origin has what a key server knows of the publication; left out where there is none. */
    readonly publication?: string;
  };
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
}

export const scope = globalThis as unknown as WorkerScope;
