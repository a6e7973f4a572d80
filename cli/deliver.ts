/** Puts a fetched document where it was asked for: on standard output as it comes, or into a file, whole or not at all. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { FetchedDocument } from '../client-proxy/index.ts';
import { systemReason } from '../node-support/system-error.ts';
import { UsageError } from './voice.ts';

export interface DeliveryWish {
  /** `-` is standard output, also where that is a terminal. */
  readonly output?: string;
  readonly include?: boolean;
  readonly head?: boolean;
}

export interface Delivered {
  /** Of content. */
  readonly bytes: number;
}

/** What a terminal would act on; text has none of it. */
const BINARY = /(?![\t\n\v\f\r])\p{Cc}/u;

/** @throws UsageError for a file that cannot be written, and for binary content on a terminal; what the content throws */
export async function deliver(document: FetchedDocument, wish: DeliveryWish): Promise<Delivered> {
  const { output } = wish;
  if (output === undefined || output === '-') return toStream(document, process.stdout, wish, output === undefined);
  return (await isSpecial(output)) ? toFile(output, output, document, wish) : toFileAtOnce(output, document, wish);
}

/** Beside it, and renamed: an interrupted run leaves what was there before. */
async function toFileAtOnce(file: string, document: FetchedDocument, wish: DeliveryWish): Promise<Delivered> {
  const beside = `${file}.part-${randomBytes(4).toString('hex')}`;
  try {
    const delivered = await toFile(beside, file, document, wish);
    await rename(beside, file);
    return delivered;
  } finally {
    await rm(beside, { force: true });
  }
}

async function toFile(file: string, name: string, document: FetchedDocument, wish: DeliveryWish): Promise<Delivered> {
  const stream = await openFile(file, name);
  try {
    const delivered = await toStream(document, stream, wish, false);
    stream.end();
    await once(stream, 'close');
    return delivered;
  } catch (error) {
    stream.destroy();
    throw error instanceof Error && 'syscall' in error ? cannotWrite(name, error) : error;
  }
}

async function openFile(file: string, name: string): Promise<WriteStream> {
  const stream = createWriteStream(file, { flush: true });
  try {
    await once(stream, 'open');
    return stream;
  } catch (error) {
    throw cannotWrite(name, error);
  }
}

async function toStream(
  { content, ...head }: FetchedDocument,
  stream: Writable,
  { include, head: headOnly }: DeliveryWish,
  guarded: boolean,
): Promise<Delivered> {
  if (include || headOnly) await write(stream, Buffer.from(headOf(head), 'latin1'));
  const keepFromTerminal = guarded && process.stdout.isTTY ? terminalGuard() : undefined;
  let bytes = 0;
  for await (const piece of content) {
    keepFromTerminal?.(piece);
    bytes += piece.length;
    if (!(await write(stream, piece))) break;
  }
  return { bytes };
}

/** Waits until there is room for more. `false`: nobody reads any more. A file that cannot be written throws. */
async function write(stream: Writable, piece: Uint8Array): Promise<boolean> {
  if (stream.destroyed || stream.errored) return false;
  if (stream.write(piece)) return true;
  await new Promise<void>((resolve, reject) => {
    const settle = (error?: Error | null) => {
      for (const name of ['drain', 'close', 'error'] as const) stream.off(name, settle);
      if (error && stream !== process.stdout) reject(error);
      else resolve();
    };
    for (const name of ['drain', 'close', 'error'] as const) stream.once(name, settle);
  });
  return !stream.destroyed && !stream.errored;
}

function headOf({ status, statusMessage, rawHeaders }: Omit<FetchedDocument, 'content'>): string {
  const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}\r\n`] : []));
  return `HTTP/1.1 ${status} ${statusMessage}\r\n${lines.join('')}\r\n`;
}

/**
 * Looks at all that a terminal would be given, before it is: somebody may write text first, and what a terminal acts on later. Characters may
 * be cut in two between pieces, so the end of one is kept for the next.
 *
 * @returns throws for a piece that is not text
 */
function terminalGuard(): (piece: Uint8Array) => void {
  const decoder = new TextDecoder();
  let shown = false;
  return (piece) => {
    if (BINARY.test(decoder.decode(piece, { stream: true }))) throw notText(shown);
    shown = true;
  };
}

function notText(shown: boolean): UsageError {
  const message = shown
    ? 'stopped: what comes next in the document is not text, and would upset the terminal; only its beginning is shown'
    : 'the document is not text, and would upset the terminal';
  return new UsageError(message, { hint: 'write it to a file with --output FILE; --output - shows it anyway' });
}

/** A device or a pipe is written as it is; a directory cannot be. */
async function isSpecial(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) throw new UsageError(`${file} is a directory`, { hint: 'name a file in it' });
  return found !== undefined && !found.isFile();
}

function cannotWrite(name: string, cause: unknown): UsageError {
  return new UsageError(`cannot write ${name}: ${systemReason(cause)}`, { cause });
}
