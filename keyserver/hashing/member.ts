/**
 * A key server that has its works done by way of the dispatcher of its cluster, and does works for it. While the dispatcher is lost, it does its own
 * as if it were alone.
 */
import { type ClientHttp2Session, connect } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { systemCode } from '../../node-support/system-error.ts';
import { busy } from './fair-queue.ts';
import { type Hashing, localHashing, Tally } from './hashing.ts';
import {
  clientTls,
  encodeMessage,
  isAuthenticated,
  MESSAGES,
  NotDone,
  post,
  readMessage,
  TIMING,
  type Timing,
  watch,
} from './messages.ts';
import { type HashingWork, hashOnThread } from './threads.ts';

/** OpenSSL's words for what the other side says of another secret. */
const OTHER_SECRET = 'ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR';

export interface MemberOptions {
  readonly host: string;
  readonly port: number;
  /** 32 bytes that all key servers of the cluster know. */
  readonly secret: Uint8Array;
  /** Works that this machine does at a time for the dispatcher. */
  readonly slots: number;
  readonly log: Logger;
  readonly timing?: Timing;
}

export class Member implements Hashing {
  readonly #options: MemberOptions;
  readonly #timing: Timing;
  readonly #local = localHashing();
  readonly #tally = new Tally();
  #session: ClientHttp2Session | undefined;
  #isJoined = false;
  #attempts = 0;
  #again: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Connects, and goes on trying. */
  constructor(options: MemberOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    this.#connect();
  }

  async hash(address: string, work: HashingWork): Promise<Uint8Array> {
    try {
      return await this.#tally.of('dispatched', this.#ask(address, work));
    } catch (error) {
      if (!(error instanceof NotDone)) throw error;
      return this.#local.hash(address, work);
    }
  }

  counts() {
    const [own, local] = [this.#tally.counts, this.#local.counts()];
    return { ...own, local: local.local, refused: own.refused + local.refused };
  }

  connected(): number {
    return this.#isJoined ? 1 : 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    this.#session?.destroy();
  }

  /** @throws KeyServerError `busy`; NotDone */
  async #ask(address: string, work: HashingWork): Promise<Uint8Array> {
    const session = this.#session;
    const text = encodeMessage(MESSAGES.ask, { address, work });
    if (!this.#isJoined || session === undefined || text === undefined) throw new NotDone();
    const answer = await this.#answerOf(session, text).catch((cause) => {
      throw new NotDone('no answer', { cause });
    });
    if (answer === 'busy') throw busy();
    return answer;
  }

  async #answerOf(session: ClientHttp2Session, text: string): Promise<Uint8Array | 'busy'> {
    const { status, stream } = await post(session, '/hash', text, AbortSignal.timeout(this.#timing.answer));
    if (status === 503) return 'busy';
    if (status !== 200) throw new NotDone();
    return (await readMessage(MESSAGES.answer, stream)).hash;
  }

  #connect(): void {
    const { host, port, secret } = this.#options;
    const session = connect(`https://${host.includes(':') ? `[${host}]` : host}:${port}`, clientTls(secret));
    this.#session = session;
    const end = watch(session, this.#timing, (reason) => {
      this.#isJoined = false;
      this.#lost(reason);
    });
    session.once('connect', (_, socket) => {
      if (!isAuthenticated(socket as TLSSocket)) return end('it speaks another version');
      this.#join(session).catch((error) => end(systemCode(error) ?? 'it sent what does not fit'));
    });
  }

  async #join(session: ClientHttp2Session): Promise<void> {
    const { slots, log, host, port } = this.#options;
    const { status, stream } = await post(session, '/join', encodeMessage(MESSAGES.join, { slots }) ?? '');
    stream.resume();
    if (status !== 204) throw new Error(`it answered ${status}`);
    this.#isJoined = true;
    this.#attempts = 0;
    log.info({ dispatcher: `${host}:${port}`, slots }, 'the dispatcher is there');
    await Promise.all(Array.from({ length: slots }, (_, slot) => this.#workAt(session, slot)));
  }

  async #workAt(session: ClientHttp2Session, slot: number): Promise<void> {
    let hash: Uint8Array | undefined;
    while (!session.destroyed) {
      const text = encodeMessage(MESSAGES.poll, { slot, ...(hash && { hash }) }) ?? '';
      const { status, stream } = await post(session, '/work', text);
      if (status !== 200) throw new Error(`it answered ${status}`);
      const { work } = await readMessage(MESSAGES.task, stream);
      hash = await this.#tally.of('for-dispatcher', hashOnThread(work)).catch(() => undefined);
    }
  }

  #lost(reason: string): void {
    if (this.#isClosed) return;
    const { log, host, port } = this.#options;
    const wait = Math.min(this.#timing.again * 2 ** this.#attempts, this.#timing.slowest);
    const about = { dispatcher: `${host}:${port}`, reason };
    if (reason === OTHER_SECRET) log.error(about, 'the dispatcher has another database or master key');
    else if (this.#attempts === 0)
      log.warn(about, 'the dispatcher is lost: passwords are hashed here until it is back');
    this.#attempts++;
    this.#again = setTimeout(() => this.#connect(), wait * (0.75 + Math.random() / 2)).unref();
  }
}
