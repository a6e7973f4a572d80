/** Members of its global scope that the worker uses. TypeScript has them in a library that excludes that of pages. */

/** A window, or a frame in one. */
export interface WorkerWindow {
  readonly id: string;
  readonly frameType: string;
  readonly url: string;
  postMessage(message: string): void;
}

export interface FetchEvent extends Event {
  /** Id of the page, frame or worker that asks; empty for a window that is opened. */
  readonly clientId: string;
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
  /** Keeps the worker alive for it, as long as the browser lets it. */
  waitUntil(work: Promise<unknown>): void;
}

/** A message of a page of this origin. */
export type WorkerMessage = MessageEvent & Pick<FetchEvent, 'waitUntil'>;

/** The scripts that pages load: path and query, and the digest for the attribute `integrity`. */
export type OwnScripts = Readonly<Record<'page' | 'sheet', { readonly src: string; readonly integrity: string }>>;

interface WorkerScope {
  readonly location: Location;
  /** Values that the origin put in front of this program: which site it reads, by whom, and where keys are had. Pages cannot reach it. */
  readonly wisprSite: {
    /** The page that has keys, on a site without a key server. */
    readonly keys?: string;
    /** Origin of the vault, on a site with a key server. */
    readonly reading?: string;
    readonly root: string;
    readonly scripts?: OwnScripts;
    readonly site: string;
  };
  readonly clients: {
    claim(): Promise<void>;
    get(id: string): Promise<WorkerWindow | undefined>;
    matchAll(options: { type: 'window' }): Promise<readonly WorkerWindow[]>;
  };
  readonly registration: ServiceWorkerRegistration;
  skipWaiting(): void;
  addEventListener(type: 'install', listener: () => void): void;
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
  addEventListener(type: 'message', listener: (event: WorkerMessage) => void): void;
}

export const scope = globalThis as unknown as WorkerScope;
