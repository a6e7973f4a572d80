/** Puts a fetched document where it was asked for: on standard output as it comes, or into a file, whole or not at all. */
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DocumentRefused, type FetchedDocument } from '../../client-proxy/index.ts';
import { CodedError } from '../../core/errors.ts';
import { replaceFile } from '../../node-support/files/write-file.ts';
import { size } from '../../node-support/size.ts';
import { describeUnwritable, systemCode } from '../../node-support/system-error.ts';
import { currentIo } from './context.ts';
import { UsageError } from './voice.ts';

export interface DeliveryWish {
  /** `-` is standard output, also where that is a terminal. */
  readonly output?: string;
  readonly include?: boolean;
  readonly head?: boolean;
}

export interface Delivered {
  /** Bytes that were written: of content, and of the head where that was wanted. */
  readonly bytes: number;
  /** Tells whether anything was written where it was asked for. False for a file whose content the caller has already. */
  readonly written: boolean;
}

/** A document that broke off when a part of it was handed on already. What was handed on is verified, and is not the document. */
class BrokenOff extends CodedError {
  constructor(cause: DocumentRefused, bytes: number) {
    const { code, address, reason } = cause;
    const message = `incomplete: only ${size(bytes)} of ${address} came: ${reason}`;
    super({}, code, message, { cause });
  }
}

/** Control characters that a terminal interprets. */
const BINARY = /(?![\t\n\v\f\r])\p{Cc}/u;

/**
 * @throws UsageError for a file that cannot be written, and for binary content on a terminal; ReaderError `disk-full`; BrokenOff where a part was
 * handed on already; what the content throws
 */
export async function deliver(document: FetchedDocument, wish: DeliveryWish): Promise<Delivered> {
  const { output } = wish;
  const passing = { ...document, content: countingBytes(document.content) };
  if (isStandardOutput(output)) return toStream(passing, currentIo().stdout, wish, output === undefined);
  const special = await isSpecial(output);
  if (document.status === 304) return leaveAlone(document);
  try {
    return await (special ? toFile(output, passing, wish) : toFileAtOnce(output, document, wish));
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? cannotWrite(output, error) : error;
  }
}

/** Counts content that is handed on as it comes, and cannot be taken back. */
async function* countingBytes(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of content) {
      yield piece;
      bytes += piece.length;
    }
  } catch (error) {
    throw bytes > 0 && error instanceof DocumentRefused ? new BrokenOff(error, bytes) : error;
  }
}

/** The caller has this version already: what is in the file stays, for nothing comes that could take its place. */
async function leaveAlone({ content }: FetchedDocument): Promise<Delivered> {
  for await (const _ of content); // reads it to its end, as any other
  return { bytes: 0, written: false };
}

/** An interrupted run leaves what was there before. */
async function toFileAtOnce(file: string, document: FetchedDocument, wish: DeliveryWish): Promise<Delivered> {
  let delivered: Delivered = { bytes: 0, written: false };
  await replaceFile(file, async (temporary) => {
    delivered = await toFile(temporary, document, wish);
  });
  return delivered;
}

async function toFile(file: string, document: FetchedDocument, wish: DeliveryWish): Promise<Delivered> {
  // Files on a disk can be flushed to it; pipes and devices refuse to.
  return toStream(document, createWriteStream(file, { flush: !(await isDeviceOrPipe(file)) }), wish, false);
}

async function toStream(
  { content, ...head }: FetchedDocument,
  stream: Writable,
  { include, head: headOnly }: DeliveryWish,
  guarded: boolean,
): Promise<Delivered> {
  const isOutput = stream === currentIo().stdout;
  const keepFromTerminal = guarded && currentIo().stdout.isTTY ? terminalGuard() : undefined;
  let bytes = 0;
  let failure: unknown;
  const pieces = async function* () {
    const shown = Buffer.from(include || headOnly ? headOf(head) : '', 'latin1');
    if (shown.length > 0) yield shown;
    bytes += shown.length;
    try {
      for await (const piece of content) {
        keepFromTerminal?.(piece);
        bytes += piece.length;
        yield piece;
      }
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  try {
    await pipeline(pieces, stream, { end: !isOutput });
  } catch (error) {
    // A program that has read enough of a pipe has what it wanted; other errors of standard output are told elsewhere (voice.ts).
    if (failure !== undefined || !(isOutput || systemCode(error) === 'EPIPE')) throw failure ?? error;
  }
  return { bytes, written: true };
}

function headOf({ status, statusMessage, rawHeaders }: Omit<FetchedDocument, 'content'>): string {
  const lines = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[index + 1]}\r\n`] : [],
  );
  return `HTTP/1.1 ${status} ${statusMessage}\r\n${lines.join('')}\r\n`;
}

/**
 * Looks at all that a terminal would be given, before it is: text may come first, and control characters later. Characters may
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
  return new UsageError(message, 'write it to a file with --output FILE; --output - shows it anyway');
}

function isStandardOutput(output: string | undefined): output is undefined | '-' | '/dev/stdout' {
  return output === undefined || output === '-' || output === '/dev/stdout';
}

/** Paths of files that a shell has opened already; they may lie on a disk. */
const OPEN_ALREADY =
  /^\/(?:dev\/(?:fd\/\d+|std(?:in|out|err))|proc\/(?:self|thread-self|\d+)\/(?:task\/\d+\/)?fd\/\d+)$/;

/** A device or a pipe is written as it is, and so is what is open already; a directory cannot be. */
async function isSpecial(file: string): Promise<boolean> {
  return (await isDeviceOrPipe(file)) || OPEN_ALREADY.test(resolve(file));
}

async function isDeviceOrPipe(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) throw new UsageError(`${file} is a directory`, 'name a file in it');
  return found !== undefined && !found.isFile();
}

function cannotWrite(name: string, cause: unknown): UsageError {
  const remedy = 'name a file in a folder that is there, and that you may write to';
  return new UsageError(describeUnwritable(name, cause), remedy, { cause });
}
