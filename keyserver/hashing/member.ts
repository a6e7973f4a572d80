/**
 * A key server that has its works done by way of the dispatcher of its cluster, and does works for it. While the dispatcher is lost, it does its own
 * as if it were alone.
 */
import { connect, type TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { systemCode } from '../../node-support/system-error.ts';
import { OutOfTime, withinTime } from '../../node-support/within-time.ts';
import { Asked, Connection, clientTls, isAuthenticated, NotDone, TIMING, type Timing } from './connection.ts';
import { busy } from './fair-queue.ts';
import type { Frame } from './frames.ts';
import { type Hashing, localHashing, Tally } from './hashing.ts';
import { type HashingWork, hashOnThread } from './threads.ts';

/** OpenSSL's words for what the other side says of another secret. */
const OTHER_SECRET = 'ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR';

export interface MemberOptions {
  /** Where the dispatcher listens. */
  readonly host: string;
  readonly port: number;
  /** 32 bytes that all key servers of the cluster know. */
  readonly secret: Uint8Array;
  /** Works that this machine does at a time for the dispatcher. */
  readonly places: number;
  readonly log: Logger;
  readonly timing?: Timing;
}

export class Member implements Hashing {
  readonly #options: MemberOptions;
  readonly #timing: Timing;
  readonly #local = localHashing();
  readonly #tally = new Tally();
  readonly #asked = new Asked();
  #socket: TLSSocket | undefined;
  #connection: Connection | undefined;
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
      const ask = this.#asked.ask((id) => this.#connection?.send({ kind: 'ask', id, address, work }) === true);
      return await this.#tally.of(
        'dispatched',
        withinTime(this.#timing.answer, () => ask),
      );
    } catch (error) {
      if (!(error instanceof NotDone || error instanceof OutOfTime)) throw error;
      return this.#local.hash(address, work);
    }
  }

  counts() {
    const [own, local] = [this.#tally.counts, this.#local.counts()];
    return { ...own, local: local.local, refused: own.refused + local.refused };
  }

  connected(): number {
    return this.#connection ? 1 : 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    this.#connection?.close('this key server stops');
    this.#socket?.destroy();
  }

  #connect(): void {
    const { host, port, secret } = this.#options;
    const socket = connect({ host, port, ...clientTls(secret) });
    this.#socket = socket;
    const fail = (reason: string) => {
      socket
        .off('error', failed)
        .off('close', closed)
        .on('error', () => undefined)
        .destroy();
      this.#lost(reason);
    };
    const failed = (error: Error) => fail(systemCode(error) ?? error.message);
    const closed = () => fail('it closed the connection');
    socket.setTimeout(this.#timing.silence, () => fail('it does not answer'));
    socket.once('error', failed).once('close', closed);
    socket.once('secureConnect', () => {
      socket.setTimeout(0).removeAllListeners('timeout').off('error', failed).off('close', closed);
      if (isAuthenticated(socket)) this.#found(socket);
      else fail('it speaks another version');
    });
  }

  #found(socket: TLSSocket): void {
    const { places, log, host, port } = this.#options;
    const end = (reason: string) => {
      this.#connection = undefined;
      this.#asked.giveUp();
      this.#lost(reason);
    };
    let working = 0;
    const work = async ({ id, work }: Extract<Frame, { kind: 'do' }>) => {
      working++;
      const hash = await this.#tally.of('for-dispatcher', hashOnThread(work)).catch(() => undefined);
      working--;
      connection.send(hash ? { kind: 'done', id, hash } : { kind: 'failed', id });
    };
    const frame = (given: Frame) => {
      if (given.kind === 'do' && working < places) void work(given);
      else if (!this.#isAnswer(given)) connection.close('it sent what does not fit');
    };
    const connection = new Connection(socket, { frame, end }, this.#timing);
    connection.send({ kind: 'offer', places });
    this.#connection = connection;
    this.#attempts = 0;
    log.info({ dispatcher: `${host}:${port}`, places }, 'the dispatcher is there');
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

  /** Whether a frame answers what the dispatcher was asked; the answer may come too late. */
  #isAnswer(frame: Frame): boolean {
    if (frame.kind === 'done') this.#asked.answer(frame.id, frame.hash);
    else if (frame.kind === 'busy') this.#asked.answer(frame.id, busy());
    else if (frame.kind === 'failed') this.#asked.answer(frame.id, new NotDone());
    else return false;
    return true;
  }
}
