/** The near relay's part, without sockets: lists what it holds, and puts certificates back. docs/spec/link.md sections 4 and 5. */
import { LIMITS } from '../limits.ts';
import { type ClientHello, LIST_EXTENSION, readClientHello, withExtension } from '../tls/client-hello.ts';
import { CONTENT, type TlsRecord } from '../tls/records.ts';
import { CertificateIndex, chainOf, compress, entryOf, hashOf, isListed, rebuild } from './compressed.ts';
import { type Group, readGroup } from './group.ts';
import { writeList } from './list.ts';
import { type Flow, Passage, ProtocolViolation, type RecordAction } from './passage.ts';

/** Memory of the near relay for a name and port. */
export interface NearMemory {
  /** The chain that the server sent last, and SHA-256 of certificates that clients have shown. */
  recall(name: string): { readonly chain: readonly Buffer[]; readonly clientHashes: readonly Buffer[] };
  learnChain(name: string, chain: readonly Buffer[]): void;
  learnClient(name: string, hashes: readonly Buffer[]): void;
  forget(name: string): void;
}

export class NearSide {
  readonly fromClient: Passage;
  readonly fromServer: Passage;
  readonly #memory: NearMemory;
  readonly #port: number;
  /** Name and port; `undefined`: nothing of this connection is looked at. */
  #name: string | undefined;
  #isListed = false;
  #isSettled = false;
  /** Tells whether the client ended its handshake with something other than ChangeCipherSpec: an alert. */
  #isRefused = false;
  #listed = new CertificateIndex([]);
  #shown: readonly Buffer[] = [];
  /** Entries of client certificates that the far relay holds. */
  #held: readonly Buffer[] = [];
  #chain: readonly Buffer[] | undefined;

  constructor(memory: NearMemory, port: number) {
    this.#memory = memory;
    this.#port = port;
    this.fromClient = new Passage(this.#clientFlow());
    this.fromServer = new Passage(this.#serverFlow());
  }

  /** Tells whether something was listed, and the handshake did not come through. */
  get hasFailed(): boolean {
    return this.#isListed && !this.#isSettled;
  }

  /** Tells whether the client said that it does not go on. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  *#clientFlow(): Flow {
    const first = yield 'hold';
    const hello = readClientHello(first);
    if (hello === undefined) return;
    const list = this.#openList(hello);
    const { found, last } = yield* readGroup(yield insert(first, hello, list), 'client');
    const end = yield* untilEncrypted(typeof found === 'object' ? yield this.#substitute(found) : last);
    this.#isRefused = end.type !== CONTENT.changeCipherSpec;
    if (this.#isRefused) return;
    if (this.#name !== undefined && this.#chain !== undefined) this.#memory.learnChain(this.#name, this.#chain);
  }

  #openList({ serverName }: ClientHello): Buffer | undefined {
    if (serverName === undefined) return undefined;
    this.#name = `${serverName}:${this.#port}`;
    const { chain, clientHashes } = this.#memory.recall(this.#name);
    this.#shown = clientHashes.slice(0, LIMITS.clientCertificates).map(entryOf);
    this.#isListed = chain.length + this.#shown.length > 0;
    if (!this.#isListed) return undefined;
    this.#listed = new CertificateIndex(chain);
    return writeList({ server: chain.map((each) => entryOf(hashOf(each))), client: this.#shown });
  }

  #substitute(group: Group): RecordAction {
    if (group.isCompressed) throw new ProtocolViolation('message 0x99 of a client');
    const chain = chainOf(group);
    if (chain === undefined || this.#name === undefined) return 'pass';
    const hashes = chain.map(hashOf);
    this.#memory.learnClient(this.#name, hashes);
    if (!hashes.some((hash) => isListed(hash, this.#held))) return 'pass';
    return compress(group, chain, this.#held) ?? 'pass';
  }

  *#serverFlow(): Flow {
    const { found, last } = yield* readGroup(yield 'hold', 'server');
    if (found === 'TLS 1.3') return this.#seeTls13();
    const end = yield* untilEncrypted(typeof found === 'object' ? yield this.#restore(found) : last);
    this.#isSettled = end.type === CONTENT.changeCipherSpec;
  }

  #seeTls13(): void {
    this.#isSettled = true;
    if (this.#isListed && this.#name !== undefined) this.#memory.forget(this.#name);
  }

  #restore(group: Group): RecordAction {
    if (!group.isCompressed) {
      this.#chain = chainOf(group);
      return 'pass';
    }
    if (!this.#isListed) throw new ProtocolViolation('message 0x99 where nothing was listed');
    const { bytes, chain, held } = rebuild(group, this.#listed);
    this.#chain = chain;
    this.#held = this.#shown.filter((_, index) => (held & (1 << index)) !== 0);
    return bytes;
  }
}

/** Inserts the list, or an empty one before a client's own extension, which must not be taken for a list. */
function insert(first: TlsRecord, hello: ClientHello, list: Buffer | undefined): RecordAction {
  const needsList = hello.extensions[0]?.type === LIST_EXTENSION;
  const data = list ?? (needsList ? writeList({ server: [], client: [] }) : undefined);
  if (data === undefined) return 'pass';
  const inserted = withExtension(first, hello, data);
  if (inserted === undefined && needsList) throw new ProtocolViolation('an extension 0x0099 of a client, and no room');
  return inserted ?? 'pass';
}

/** Lets handshake records pass. @returns the first other one, which is still held */
export function* untilEncrypted(first: TlsRecord): Flow<TlsRecord> {
  let record = first;
  while (record.type === CONTENT.handshake) record = yield 'pass';
  return record;
}
