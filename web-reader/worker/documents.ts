/** Sources of a document in the worker: the browser's copies, then the content hosts. */
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { type ContentHost, FailedHosts, HostsInTurn } from '../../reading/content-hosts.ts';
import type { StoredCopy } from '../../reading/payload.ts';
import { FetchingHost } from '../fetching.ts';
import { BrowserCopyWriter, dropKept, findKept } from './kept-objects.ts';

/** Milliseconds until a host must have what is wanted there: where there are others, and where it is the last. */
const TIMEOUT = { withOthers: 10_000, last: 60_000 } as const;

const failedHosts = new FailedHosts(() => Date.now());

export class WorkerSupply extends HostsInTurn<ContentHost> {
  readonly asksForContent = true;

  /** @param hosts - origins of the content hosts, in the publisher's order */
  constructor(path: string, entry: DocumentEntry, hosts: readonly string[]) {
    super(
      path,
      entry,
      hosts.map((origin) => ({ origin })),
      failedHosts,
    );
  }

  find(): Promise<StoredCopy | undefined> {
    return findKept(this.path, this.entry);
  }

  drop(): Promise<void> {
    return dropKept(this.path, this.entry).catch(() => undefined);
  }

  begin(length: number): BrowserCopyWriter | undefined {
    return BrowserCopyWriter.begin(this.path, this.entry, length);
  }

  protected attempt({ origin }: ContentHost, isLast: boolean): TimedHost {
    // The browser's own cache may hold, for good, bytes that failed their checks.
    const cache = failedHosts.has(origin) ? 'reload' : 'default';
    return new TimedHost(origin, TIMEOUT[isLast ? 'last' : 'withOthers'], cache);
  }
}

/** Limits the time until what is wanted at a host has begun. */
class TimedHost extends FetchingHost {
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(origin: string, milliseconds: number, cache: RequestCache) {
    super(origin, undefined, cache);
    this.#timer = setTimeout(() => super.end(), milliseconds);
  }

  opened(): void {
    clearTimeout(this.#timer);
  }

  override end(): void {
    this.opened();
    super.end();
  }
}
