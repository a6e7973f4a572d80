/** A connection between a key server and its dispatcher, once TLS is there: frames both ways, and an end where the other side has gone silent. */
import type { ConnectionOptions, TLSSocket, TlsOptions } from 'node:tls';
import { encodeFrame, type Frame, FrameReader } from './frames.ts';

/** Milliseconds. */
export interface Timing {
  /** Between two signs of life. */
  readonly alive: number;
  /** Without anything from the other side, until the connection is given up. */
  readonly silence: number;
  /** Until a work that the dispatcher was asked for is done here. */
  readonly answer: number;
  /** Before the first new attempt to connect; each further one waits twice as long, up to `slowest`. */
  readonly again: number;
  readonly slowest: number;
}

export const TIMING: Timing = { alive: 2000, silence: 10_000, answer: 30_000, again: 1000, slowest: 30_000 };

/** Versions of the frames do not mix. */
const PROTOCOL = 'wispr-dispatcher/1';
const IDENTITY = 'wispr';

/**
 * Both sides know one secret, and prove it to each other before either one reads a byte: TLS 1.3 with an external pre-shared key and a key agreement
 * (`psk_dhe_ke`), so that a secret that is stolen later opens no recording. Node.js ties such keys to SHA-256. There are no certificates.
 */
const COMMON = {
  minVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_128_GCM_SHA256',
  ecdhCurve: 'X25519MLKEM768:X25519',
  ALPNProtocols: [PROTOCOL],
} as const satisfies TlsOptions & ConnectionOptions;

/** @param secret - 32 bytes */
export function serverTls(secret: Uint8Array): TlsOptions {
  return { ...COMMON, handshakeTimeout: 10_000, pskCallback: (_, identity) => (identity === IDENTITY ? secret : null) };
}

/** @param secret - 32 bytes */
export function clientTls(secret: Uint8Array): ConnectionOptions {
  return {
    ...COMMON,
    rejectUnauthorized: true,
    pskCallback: () => ({ psk: secret, identity: IDENTITY }),
    // Called only where the other side shows a certificate instead: it does not know the secret.
    checkServerIdentity: () => new Error('it does not know the secret of this cluster'),
  };
}

/** Whether a handshake has proved the secret, and speaks these frames. */
export function isAuthenticated(socket: TLSSocket): boolean {
  return socket.isSessionReused() && socket.alpnProtocol === PROTOCOL;
}

export interface ConnectionEvents {
  readonly frame: (frame: Frame) => void;
  /** Once, after the last frame. */
  readonly end: (reason: string) => void;
}

export class Connection {
  readonly #socket: TLSSocket;
  readonly #events: ConnectionEvents;
  readonly #timer: NodeJS.Timeout;
  #heard = performance.now();
  #ended = false;

  constructor(socket: TLSSocket, events: ConnectionEvents, { alive, silence }: Timing) {
    this.#socket = socket.setNoDelay(true);
    this.#events = events;
    const reader = new FrameReader();
    socket.on('data', (bytes: Uint8Array) => this.#read(reader, bytes));
    socket.once('error', (error: NodeJS.ErrnoException) => this.close(error.code ?? error.name));
    socket.once('close', () => this.close('it closed the connection'));
    this.#timer = setInterval(() => {
      if (performance.now() - this.#heard > silence) this.close('it has gone silent');
      else this.send({ kind: 'alive' });
    }, alive).unref();
  }

  get isOpen(): boolean {
    return !this.#ended;
  }

  /** @returns whether it goes out: it may be too long, or too late */
  send(frame: Frame): boolean {
    const bytes = this.#ended ? undefined : encodeFrame(frame);
    if (bytes) this.#socket.write(bytes);
    return bytes !== undefined;
  }

  close(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#socket.on('error', () => undefined).destroy();
    this.#events.end(reason);
  }

  #read(reader: FrameReader, bytes: Uint8Array): void {
    this.#heard = performance.now();
    for (const frame of reader.read(bytes)) {
      if (frame === undefined) this.close('it sent what is no frame');
      else if (frame.kind !== 'alive') this.#events.frame(frame);
      if (this.#ended) return;
    }
  }
}

/** Numbered works that another side was asked for. */
export class Asked {
  readonly #waiting = new Map<number, { resolve: (hash: Uint8Array) => void; reject: (error: Error) => void }>();
  #next = 0;

  get length(): number {
    return this.#waiting.size;
  }

  /** @param send - asks for the work of this number; says whether it could */
  ask(send: (id: number) => boolean): Promise<Uint8Array> {
    const id = this.#next++ % 2 ** 32;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      if (!send(id)) this.#take(id)?.reject(new NotDone());
    });
  }

  /** @returns whether that number was asked */
  answer(id: number, outcome: Uint8Array | Error): boolean {
    const waiting = this.#take(id);
    if (outcome instanceof Error) waiting?.reject(outcome);
    else waiting?.resolve(outcome);
    return waiting !== undefined;
  }

  giveUp(): void {
    for (const id of [...this.#waiting.keys()]) this.answer(id, new NotDone());
  }

  #take(id: number) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}

/** A work was asked for, and not done. It may be asked of another. */
export class NotDone extends Error {}
