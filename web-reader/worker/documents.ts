/** Where the worker has a document from: what the browser keeps, then the content hosts. */
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { faultOf } from '../../reading/host-faults.ts';
import { type DocumentSupply, type ObjectStore, Payload } from '../../reading/payload.ts';
import type { FetchingHost } from '../fetching.ts';
import { askHosts, failedHosts } from './hosts.ts';
import { BrowserCopyWriter, dropKept, findKept } from './kept-objects.ts';

export class WorkerSupply implements DocumentSupply {
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly asksForContent = true;
  readonly store: ObjectStore;
  readonly #hosts: readonly string[];
  readonly #attempts: FetchingHost[] = [];
  #isOver = false;

  /** @param hosts - origins of the content hosts, in the order in which they are asked */
  constructor(path: string, entry: DocumentEntry, hosts: readonly string[]) {
    this.path = path;
    this.entry = entry;
    this.#hosts = hosts;
    this.store = {
      find: () => findKept(path, entry),
      drop: () => dropKept(path, entry).catch(() => undefined),
      begin: (length) => BrowserCopyWriter.begin(path, entry, length),
    };
  }

  readonly ask: DocumentSupply['ask'] = (work, passedOver) => {
    const hosts = this.#hosts.filter((origin) => !passedOver?.has(origin));
    return askHosts(hosts, (attempt) => {
      this.#attempts.push(attempt);
      return work(attempt);
    });
  };

  readonly failed: DocumentSupply['failed'] = ({ origin }, error) => {
    if (this.#isOver || faultOf(error) === undefined) return false;
    failedHosts.add(origin);
    for (const attempt of this.#attempts) if (attempt.origin === origin) attempt.end();
    return true;
  };

  readonly payload: DocumentSupply['payload'] = (...from) => new Payload(this, ...from);

  /** Ends what is still coming: something else is going to be fetched. */
  release(): void {
    for (const attempt of this.#attempts.splice(0)) attempt.end();
  }

  /** Nothing more is wanted. What comes of ending a host's answer is no fault of the host. */
  end(): void {
    this.#isOver = true;
    this.release();
  }
}
