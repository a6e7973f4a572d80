/** Where the worker has a document from: what the browser keeps, then the content hosts. */
import type { DocumentReader } from '../../core/object/document-reader.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { faultOf } from '../../reading/host-faults.ts';
import {
  type DocumentSupply,
  type HostAttempt,
  Payload,
  type PayloadBytes,
  type StoredCopy,
} from '../../reading/payload.ts';
import type { FetchingHost } from '../fetching.ts';
import { askHosts, failedHosts } from './hosts.ts';
import { BrowserCopyWriter, dropKept, findKept } from './kept-objects.ts';

export class WorkerSupply implements DocumentSupply {
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly asksForContent = true;
  readonly #hosts: readonly string[];
  readonly #attempts: FetchingHost[] = [];
  #isOver = false;

  /** @param hosts - origins of the content hosts, in the order in which they are asked */
  constructor(path: string, entry: DocumentEntry, hosts: readonly string[]) {
    this.path = path;
    this.entry = entry;
    this.#hosts = hosts;
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

  ask<Result>(work: (attempt: HostAttempt) => Promise<Result>, passedOver?: ReadonlySet<string>): Promise<Result> {
    const hosts = this.#hosts.filter((origin) => !passedOver?.has(origin));
    return askHosts(hosts, (attempt) => {
      this.#attempts.push(attempt);
      return work(attempt);
    });
  }

  failed({ origin }: HostAttempt, error: unknown): boolean {
    if (this.#isOver || faultOf(error) === undefined) return false;
    failedHosts.add(origin);
    for (const attempt of this.#attempts) if (attempt.origin === origin) attempt.end();
    return true;
  }

  payload(reader: DocumentReader, from: PayloadBytes, end?: number): Payload {
    return new Payload(this, reader, from, end);
  }

  release(): void {
    for (const attempt of this.#attempts.splice(0)) attempt.end();
  }

  /** Nothing more is wanted. What comes of ending a host's answer is no fault of the host. */
  end(): void {
    this.#isOver = true;
    this.release();
  }
}
