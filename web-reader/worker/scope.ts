/** What the worker uses of its global scope. TypeScript has these in a library that cannot stand beside that of pages. */

export interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
  /** Keeps the worker alive for it, as long as the browser lets it. */
  waitUntil(work: Promise<unknown>): void;
}

/** The scripts that the worker's own pages load: path and query, and the digest for the attribute `integrity`. */
export type OwnScripts = Readonly<Record<'sheet' | 'library', { readonly src: string; readonly integrity: string }>>;

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
    readonly scripts?: OwnScripts;
  };
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
}

export const scope = globalThis as unknown as WorkerScope;
