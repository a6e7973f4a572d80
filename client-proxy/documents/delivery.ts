/** Puts verified content on the wire, as fast as the client takes it and no faster. */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ContentCoding } from '../../core/object/metadata.ts';
import { createDecoder } from '../../node-support/content-coding.ts';
import type { HeaderFields } from '../answer-fields.ts';

export interface Delivery {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly content: AsyncIterator<Uint8Array>;
  /** Bytes of content. */
  readonly length: number;
  readonly undo?: ContentCoding | undefined;
  /** Changes the content, when no coding is on it any more. */
  readonly change?: Transform | undefined;
  /** Told of every piece of which nobody holds the memory any more. */
  readonly spend?: (piece: Uint8Array) => void;
}

/**
 * Sends head and content. Whatever the content throws before its first piece is thrown before anything is sent; afterwards the caller has
 * to end the transfer visibly incomplete.
 */
export async function deliver(response: ServerResponse, delivery: Delivery): Promise<void> {
  try {
    await deliverAll(response, delivery);
  } finally {
    await delivery.content.return?.(); // what was begun ahead is not wanted any more
  }
}

async function deliverAll(
  response: ServerResponse,
  { status, headers, content, length, undo, change, spend }: Delivery,
): Promise<void> {
  const first = await content.next();
  if (undo || change) return deliverChanged(response, { status, headers, undo, change }, first, content);
  // Mostly the first piece is all there is; then head and content leave together.
  if (first.done || first.value.length === length) {
    if (!first.done) await content.next(); // the end has passed its checks too
    response.writeHead(status, headers);
    response.end(first.value);
    return;
  }
  response.writeHead(status, headers);
  for (let piece: IteratorResult<Uint8Array> = first; !piece.done; piece = await content.next()) {
    const leaving = write(response, piece.value);
    if ((leaving && !(await leaving)) || response.destroyed) return;
    // The system has its own copy of what went into a socket; nobody knows of other streams.
    if (leaving && response.socket instanceof Socket) spend?.(piece.value);
  }
  response.end();
}

/**
 * Where content or coding fails, the connection is reset before `pipeline` ends the response: without length and chunks, as for HTTP/1.0,
 * an ordinary close would be the proper end of what came so far. Chunks say it themselves, and lose nothing that was sent.
 */
async function deliverChanged(
  response: ServerResponse,
  { status, headers, undo, change }: Omit<Delivery, 'content' | 'length'>,
  first: IteratorResult<Uint8Array>,
  content: AsyncIterator<Uint8Array>,
): Promise<void> {
  response.writeHead(status, headers);
  const reset = () => {
    if (!response.chunkedEncoding) response.socket?.resetAndDestroy();
  };
  const steps = [undo && createDecoder(undo), change].filter((step) => step !== undefined);
  for (const step of steps) step.once('error', reset);
  await pipeline([Readable.from(startingWith(first, content, reset), { objectMode: false }), ...steps, response]);
}

async function* startingWith(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
  failed: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (let piece = first; !piece.done; piece = await rest.next()) yield piece.value;
  } catch (error) {
    failed();
    throw error;
  }
}

/** `undefined` where there is room for more at once; otherwise resolves when the piece has left: whether the client is still there. */
function write(response: ServerResponse, piece: Uint8Array): Promise<boolean> | undefined {
  let left: (isThere: boolean) => void = () => undefined;
  const gone = () => left(false);
  if (response.write(piece, (error) => left(!error))) return undefined;
  response.once('close', gone);
  return new Promise<boolean>((resolve) => {
    left = resolve;
  }).finally(() => response.off('close', gone));
}
