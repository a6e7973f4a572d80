/** Where the worker has a document from: what the browser keeps, then the content hosts. */
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { type ContentHost, FailedHosts, HostsInTurn } from '../../reading/content-hosts.ts';
import type { HostAttempt, StoredCopy } from '../../reading/payload.ts';
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

  override async ask<Result>(
    work: (attempt: HostAttempt) => Promise<Result>,
    passedOver?: ReadonlySet<string>,
  ): Promise<Result> {
    return super.ask((attempt) => (attempt as TimedHost).within(() => work(attempt)), passedOver);
  }

  protected attempt({ origin }: ContentHost, isLast: boolean): TimedHost {
    return new TimedHost(origin, TIMEOUT[isLast ? 'last' : 'withOthers']);
  }
}

/** A host that has a limited time until what is wanted there has begun. */
class TimedHost extends FetchingHost {
  readonly #milliseconds: number;

  constructor(origin: string, milliseconds: number) {
    super(origin);
    this.#milliseconds = milliseconds;
  }

  async within<Result>(work: () => Promise<Result>): Promise<Result> {
    const timer = setTimeout(() => this.end(), this.#milliseconds);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  }
}
