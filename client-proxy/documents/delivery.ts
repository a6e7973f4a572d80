/** Puts verified content on the wire, as fast as the client takes it and no faster. */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ContentCoding } from '../../core/object/metadata.ts';
import { createDecoder } from '../../node-support/content-coding.ts';
import { startingWith } from '../../reading/starting-with.ts';
import type { HeaderFields } from '../network/answer-fields.ts';
import { type ChangedDeliveries, cutOff } from './changed-deliveries.ts';

export interface Changes {
  readonly undo: ContentCoding | undefined;
  /** Changes the content, when no coding is on it any more. */
  readonly change: Transform | undefined;
  readonly deliveries: ChangedDeliveries;
}

export interface Delivery {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly content: AsyncIterator<Uint8Array>;
  readonly length: number;
  readonly changes?: Changes | undefined;
  /** Called for every piece whose memory is not used any more. */
  readonly spend?: (piece: Uint8Array) => void;
}

/** Throws a first error before anything is sent; after a later one the caller ends the transfer visibly incomplete. */
export async function deliver(
  response: ServerResponse,
  { status, headers, content, length, changes, spend }: Delivery,
): Promise<void> {
  try {
    const first = await content.next();
    if (changes)
      return await changes.deliveries.run(response, () => {
        response.writeHead(status, headers);
        return sendChanged(response, startingWith(first, content), changes);
      });
    // The first piece is mostly all there is; then head and content leave together.
    if (first.done || first.value.length === length) {
      if (!first.done) await content.next(); // the end has passed its checks too
      response.writeHead(status, headers);
      return endWith(response, first.value, spend);
    }
    response.writeHead(status, headers);
    for (let piece: IteratorResult<Uint8Array> = first; !piece.done; piece = await content.next()) {
      const leaving = write(response, piece.value);
      if ((leaving && !(await leaving)) || response.destroyed) return;
      if (leaving && isCopied(response)) spend?.(piece.value);
    }
    response.end();
  } finally {
    await content.return?.(); // pieces that were begun ahead are not wanted any more
  }
}

/** @param spend - called once the piece is sent */
function endWith(response: ServerResponse, piece: Uint8Array | undefined, spend: Delivery['spend']): void {
  if (piece === undefined || spend === undefined || !isCopied(response)) response.end(piece);
  else response.end(piece, () => spend(piece));
}

/** The system copies what is written to a socket; other streams may keep it. */
function isCopied({ socket }: ServerResponse): boolean {
  return socket instanceof Socket;
}

/** Sends content that is changed. Where it fails after the head, missing chunks show it; without chunks, the connection is reset. */
async function sendChanged(
  response: ServerResponse,
  pieces: AsyncIterable<Uint8Array>,
  changes: Changes,
): Promise<void> {
  try {
    for await (const piece of changed(pieces, changes)) {
      const leaving = write(response, piece);
      if ((leaving && !(await changes.deliveries.stalled(response, leaving))) || response.destroyed) return;
    }
    response.end();
  } catch (error) {
    if (!response.chunkedEncoding) cutOff(response);
    throw error;
  }
}

/** Ending the iteration ends all steps; an error of one of them is thrown by the last. */
function changed(content: AsyncIterable<Uint8Array>, { undo, change }: Changes): AsyncIterable<Uint8Array> {
  const steps = [undo && createDecoder(undo), change].filter((step) => step !== undefined);
  return steps.reduce<Readable>(
    (from, to) => {
      pipeline(from, to).catch(() => undefined);
      return to;
    },
    Readable.from(content, { objectMode: false }),
  );
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
