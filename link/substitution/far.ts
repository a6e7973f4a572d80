/** The far relay's part, without sockets: takes the list out, and certificates that are in it. docs/spec/link.md sections 4 and 5. */
import { LIMITS } from '../limits.ts';
import { type ClientHello, LIST_EXTENSION, readClientHello, withoutFirst } from '../tls/client-hello.ts';
import { CONTENT, type TlsRecord } from '../tls/records.ts';
import { CertificateIndex, chainOf, compress, hashOf, isListed, rebuild } from './compressed.ts';
import { type Group, readGroup } from './group.ts';
import { type List, readList } from './list.ts';
import { untilEncrypted } from './near.ts';
import { type Flow, Passage, ProtocolViolation, type RecordAction } from './passage.ts';

export interface FarMemory {
  /** @param entry - the first 8 bytes of SHA-256 */
  find(entry: Buffer): Buffer | undefined;
  learn(chain: readonly Buffer[]): void;
}

export class FarSide {
  readonly fromNear: Passage;
  readonly fromServer: Passage;
  readonly #memory: FarMemory;
  #list: List | undefined;
  /** Client certificates that the near relay was told of; `undefined`: of none. */
  #offered: CertificateIndex | undefined;
  #clientChain: readonly Buffer[] | undefined;

  constructor(memory: FarMemory) {
    this.#memory = memory;
    this.fromNear = new Passage(this.#nearFlow());
    this.fromServer = new Passage(this.#serverFlow());
  }

  *#nearFlow(): Flow {
    const first = yield 'hold';
    const hello = readClientHello(first);
    if (hello === undefined) return;
    const { found } = yield* readGroup(yield this.#strip(first, hello), 'client');
    if (typeof found !== 'object') return;
    if (!found.isCompressed) {
      this.#clientChain = chainOf(found);
      return;
    }
    if (this.#offered === undefined) throw new ProtocolViolation('message 0x99 where nothing was said to be held');
    const { bytes, chain } = rebuild(found, this.#offered);
    this.#clientChain = chain;
    yield bytes;
  }

  #strip(first: TlsRecord, hello: ClientHello): RecordAction {
    const [extension] = hello.extensions;
    if (extension?.type !== LIST_EXTENSION) return 'pass';
    this.#list = readList(extension.data);
    if (this.#list === undefined) throw new ProtocolViolation('an extension 0x0099 that is no list');
    return withoutFirst(first, hello);
  }

  *#serverFlow(): Flow {
    const { found, last } = yield* readGroup(yield 'hold', 'server');
    if (found === 'TLS 1.3') return;
    const end = yield* untilEncrypted(typeof found === 'object' ? yield this.#substitute(found) : last);
    if (end.type === CONTENT.changeCipherSpec && this.#clientChain !== undefined) this.#memory.learn(this.#clientChain);
  }

  #substitute(group: Group): RecordAction {
    if (group.isCompressed) throw new ProtocolViolation('message 0x99 of a server');
    const chain = chainOf(group);
    if (chain === undefined || this.#list === undefined) return 'pass';
    const { server, client } = this.#list;
    const found = client.slice(0, LIMITS.clientCertificates).map((entry) => this.#memory.find(entry));
    const held = found.reduce((bits, certificate, index) => bits | (certificate ? 1 << index : 0), 0);
    if (held === 0 && !chain.some((each) => isListed(hashOf(each), server))) return 'pass';
    const compressed = compress(group, chain, server, held);
    if (compressed === undefined) return 'pass';
    if (held !== 0) this.#offered = new CertificateIndex(found.filter((certificate) => certificate !== undefined));
    return compressed;
  }
}
