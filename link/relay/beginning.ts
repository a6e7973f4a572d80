import type { Socket } from 'node:net';
import { LIMITS } from '../limits.ts';

/** Meaning of a connection's first bytes, and those that are to be read again; `more` where they are too few. */
export type Beginning<Found> = { readonly found: Found; readonly rest: Buffer } | 'more' | undefined;

/** @returns `undefined` for another beginning, or one that is not whole in time. What follows it stays in the socket */
export function beginningOf<Found>(
  socket: Socket,
  read: (seen: Buffer) => Beginning<Found>,
): Promise<Found | undefined> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    const timer = setTimeout(() => done(undefined), LIMITS.opening);
    const done = (found: Found | undefined) => {
      clearTimeout(timer);
      socket.off('data', inspect).off('close', closed).off('end', closed).pause();
      resolve(found);
    };
    const closed = () => done(undefined);
    const inspect = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      const beginning = read(seen);
      if (beginning === 'more') return;
      done(beginning?.found);
      if (beginning !== undefined && beginning.rest.length > 0) socket.unshift(beginning.rest);
    };
    socket.on('data', inspect).once('close', closed).once('end', closed);
  });
}
