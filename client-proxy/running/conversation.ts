/**
 * Messages between a command and the Reader that runs. Frames: a length (4 bytes, big-endian), a kind (1 byte: 0 for JSON, 1 for content)
 * and so many bytes. The Reader greets, the command sends one request, the Reader asks what it needs, and ends with a result or an error.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { CodedError, type ErrorFields, reasonOf } from '../../core/errors.ts';
import { readerRemedy } from '../errors.ts';

const HEAD = 5;
const JSON_KIND = 0;
const CONTENT_KIND = 1;
/** Length of a frame: more than a roaming file takes. */
const MAXIMUM_LENGTH = 16_777_216;

/** Content stands for the question `content`. */
export type Frame = Readonly<Record<string, unknown>> | Uint8Array;

export class Conversation {
  readonly #socket: Socket;
  readonly #frames: AsyncGenerator<Frame, void>;

  constructor(socket: Socket) {
    this.#socket = socket.on('error', () => undefined); // told by what is read
    this.#frames = readFrames(socket);
  }

  async send(frame: Frame): Promise<void> {
    const isContent = frame instanceof Uint8Array;
    const body = isContent ? frame : Buffer.from(JSON.stringify(frame));
    const head = Buffer.alloc(HEAD);
    head.writeUInt32BE(body.length);
    head.writeUInt8(isContent ? CONTENT_KIND : JSON_KIND, 4);
    if (this.#socket.destroyed) throw new Error('the other side ended');
    this.#socket.write(head);
    if (!this.#socket.write(body)) await Promise.race([once(this.#socket, 'drain'), once(this.#socket, 'close')]);
  }

  /** @param timeout - milliseconds. Default: none. @throws Error where the other side ended, or sent something else */
  async receive(timeout?: number): Promise<Frame> {
    const late = () => this.#socket.destroy(new Error('no answer in time'));
    const timer = timeout === undefined ? undefined : setTimeout(late, timeout);
    try {
      const { value } = await this.#frames.next();
      if (value === undefined) throw new Error('the other side ended');
      return value;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lets what was sent arrive, and takes nothing more. */
  end(): void {
    this.#socket.end();
    this.#socket.destroySoon();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

async function* readFrames(socket: Socket): AsyncGenerator<Frame, void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of socket) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= HEAD) {
      const length = rest.readUInt32BE();
      if (length > MAXIMUM_LENGTH) throw new Error('the other side sent too much');
      if (rest.length < HEAD + length) break;
      const body = rest.subarray(HEAD, HEAD + length);
      yield rest[4] === CONTENT_KIND ? body : (JSON.parse(body.toString()) as Frame);
      rest = rest.subarray(HEAD + length);
    }
  }
}

export interface SerializedError {
  readonly code: string;
  readonly message: string;
  readonly fields?: ErrorFields;
  readonly typed?: boolean;
  readonly address?: string | undefined;
  readonly reason?: string | undefined;
}

export function describeError(error: unknown): SerializedError {
  if (!(error instanceof CodedError)) return { code: 'internal', message: reasonOf(error) };
  const { code, message, fields, typed } = error;
  const { address, reason } = error as { readonly address?: string; readonly reason?: string };
  return { code, message, fields, typed, address, reason };
}

/** An error of the Reader that runs, of whichever layer. */
export class RunningReaderError extends CodedError {
  constructor({ code, message, fields, typed = false }: SerializedError) {
    const remedy = readerRemedy(code, fields);
    super(remedy === undefined ? {} : { [code]: { means: '', remedy } }, code, message, {
      fields: fields ?? {},
      typed,
    });
  }
}

/** Refusal of a document, or of the rest of it: a program that asks for several has to hear which address it was, too. */
export class DocumentRefused extends CodedError {
  /** Address after redirects that the publisher signed. */
  readonly address: string;
  /** The refusal's own sentence. */
  readonly reason: string;

  /** @param reason - in the place of the cause's own sentence */
  constructor(address: string, cause: CodedError, reason = cause.message) {
    super({}, cause.code, `${address}: ${reason}`, { cause });
    this.address = address;
    this.reason = reason;
  }
}
