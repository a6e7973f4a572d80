/**
 * The payload of one document on its way to a page: from what is kept, or from a content host, and where that fails in the middle, from the
 * next one. Every block is verified, wherever it came from; what came from a host is kept once all of it has passed.
 */
import type { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { BlockSource } from '../../core/object/blocks.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';
import { headBytes } from '../../core/object/head.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { faultOf } from '../../reading/host-faults.ts';
import { payloadAt } from '../../reading/payload.ts';
import { HostAttempt } from '../fetching.ts';
import { askHosts, noteFailure } from './hosts.ts';
import { dropKept, type KeptObject, ObjectWriter } from './kept-objects.ts';

/** What is wanted, and where it may come from. */
export interface Supply {
  readonly path: string;
  readonly entry: DocumentEntry;
  /** Origins of the content hosts, in the order in which they are asked. */
  readonly hosts: readonly string[];
}

export class Payload implements BlockSource {
  readonly #supply: Supply;
  readonly #reader: DocumentReader;
  /** Where the wanted part of the payload ends. */
  readonly #end: number;
  readonly #failed = new Set<string>();
  #bytes: ByteReader;
  #origin: HostAttempt | KeptObject;
  #writer: ObjectWriter | undefined;
  #first: Uint8Array | undefined;
  #isDecided = false;
  #isOver = false;

  constructor(
    supply: Supply,
    reader: DocumentReader,
    bytes: ByteReader,
    origin: HostAttempt | KeptObject,
    end = reader.payloadLength,
  ) {
    this.#supply = supply;
    this.#reader = reader;
    this.#bytes = bytes;
    this.#origin = origin;
    this.#end = end;
  }

  read(length: number): Promise<Uint8Array | undefined> {
    return this.#bytes.read(length);
  }

  atEnd(): Promise<boolean> {
    return this.#bytes.atEnd();
  }

  /** The whole is going to be read: it is kept from now on, with the block that was read already. */
  async beginKeeping(): Promise<void> {
    const first = this.#decide();
    if (!(this.#origin instanceof HostAttempt)) return;
    const { path, entry } = this.#supply;
    const { head, payloadLength } = this.#reader;
    this.#writer = ObjectWriter.begin(path, entry, head.length + payloadLength);
    await this.#writer?.keep(headBytes(head));
    if (first) await this.#writer?.keep(first);
  }

  /** It is read in part. */
  stopKeeping(): void {
    this.#decide();
  }

  /** Nothing more is wanted. What comes of ending the host's answer is no fault of the host. */
  end(): void {
    this.#isOver = true;
    this.#writer?.abandon();
    if (this.#origin instanceof HostAttempt) this.#origin.end();
  }

  keep(block: Uint8Array): Promise<void> | undefined {
    if (this.#writer) return this.#writer.keep(block);
    if (!this.#isDecided) this.#first = block;
    return undefined;
  }

  async recover(offset: number, error: unknown): Promise<void> {
    if (this.#isOver) throw error;
    const { path, entry, hosts } = this.#supply;
    if (this.#origin instanceof HostAttempt) {
      // Where the object is too long, another host cannot help.
      if (faultOf(error) === undefined || (error as { code?: unknown }).code === 'object-trailing') throw error;
      noteFailure(this.#origin.origin);
      this.#failed.add(this.#origin.origin);
      this.#origin.end();
    } else await dropKept(path, entry).catch(() => undefined);
    const range = { start: offset, end: this.#end };
    try {
      const fetch = async (attempt: HostAttempt) => {
        return { bytes: await payloadAt(attempt.fetch, this.#supply, this.#reader, range), attempt };
      };
      const { bytes, attempt } = await askHosts(hosts, fetch, this.#failed);
      this.#bytes = bytes;
      this.#origin = attempt;
    } catch {
      throw error; // what went wrong first says more
    }
  }

  #decide(): Uint8Array | undefined {
    const first = this.#first;
    this.#first = undefined;
    this.#isDecided = true;
    return first;
  }
}
