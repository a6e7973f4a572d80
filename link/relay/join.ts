/** Two sockets joined, each direction by way of what changes it. */
import type { Socket } from 'node:net';
import { type Duplex, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LIMITS } from '../limits.ts';
import type { Passage } from '../substitution/passage.ts';

/** Ends a socket that is idle for too long, and keeps its errors from ending the process before it is joined. */
export function supervise(socket: Socket): void {
  socket.setNoDelay(true).setTimeout(LIMITS.idle, () => socket.destroy());
  socket.on('error', () => socket.destroy());
}

/**
 * Resolves when both directions have ended. If one fails, both sockets are closed.
 *
 * @param there - changes what goes from `left` to `right`, one after the other
 * @throws Surprise, errors of the sockets
 */
export async function join(
  left: Duplex,
  right: Duplex,
  there: readonly Transform[],
  back: readonly Transform[],
): Promise<void> {
  const directions = [pipeline([left, ...there, right]), pipeline([right, ...back, left])];
  try {
    await Promise.all(directions);
  } finally {
    left.destroy();
    right.destroy();
    await Promise.allSettled(directions);
  }
}

/** A passage as a stream; none: nothing is changed. */
export function through(passage: Passage | undefined): Transform[] {
  if (passage === undefined) return [];
  return [
    new Transform({
      transform: (chunk, _, done) => attempt(() => passage.push(chunk), done),
      flush: (done) => attempt(() => passage.end(), done),
    }),
  ];
}

function attempt(work: () => Buffer, done: (error: Error | null, bytes?: Buffer) => void): void {
  let bytes: Buffer;
  try {
    bytes = work();
  } catch (error) {
    done(error as Error);
    return;
  }
  done(null, bytes);
}
