/** Two sockets joined, each direction by way of what changes it. */
import { once } from 'node:events';
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

/** Waits for a connection as long as `wanting` is there. @param sockets - gets it while it is open */
export async function reached(socket: Socket, wanting: Socket, sockets: Set<Socket>): Promise<Socket> {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  supervise(socket);
  const gone = () => socket.destroy(new Error('the other side has gone'));
  wanting.once('close', gone);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(LIMITS.connecting) });
    wanting.off('close', gone);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Resolves when both directions have ended; if one fails, both are closed. @throws ProtocolViolation, errors of the sockets */
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
