/** Time and bytes of an exchange on a link. */
import { setTimeout as pause } from 'node:timers/promises';
import { LOOPBACK } from './link/kinds.ts';
import type { LinkKind, NarrowLink } from './link/narrow-link.ts';

const POLL = 100;
/** Length that packets after a handshake do not exceed, such as those with two tickets of TLS 1.3. */
const LAST_PACKET = 700;

export interface Crossing {
  readonly milliseconds: number;
  /** Sum of both ways, with the headers of IP and TCP. */
  readonly bytes: number;
}

/**
 * Does `work` on a link of this kind, which is a loopback before and after.
 *
 * @param work - calls `hasEnded` before it closes a connection, where its closing is not to be counted; returns milliseconds
 */
export async function measureCrossing(
  link: NarrowLink,
  kind: LinkKind,
  work: (hasEnded: () => Promise<void>) => Promise<number>,
): Promise<Crossing> {
  await quiet(link, LOOPBACK);
  await link.become(kind);
  const before = await link.carried();
  let after: number | undefined;
  const hasEnded = async () => {
    after ??= await quiet(link, kind);
    await link.become(LOOPBACK);
  };
  try {
    const milliseconds = await work(hasEnded);
    await hasEnded();
    return { milliseconds, bytes: (after ?? before) - before };
  } finally {
    await link.become(LOOPBACK);
  }
}

/** Waits until nothing arrives any more. @returns bytes that the link has carried */
async function quiet(link: NarrowLink, { up, down, delay }: LinkKind): Promise<number> {
  const slowest = Math.min(up || Number.POSITIVE_INFINITY, down || Number.POSITIVE_INFINITY);
  const enough = 2 * delay + (LAST_PACKET * 8000) / slowest + 2 * POLL;
  let carried = await link.carried();
  for (let still = 0; still < enough; still += POLL) {
    await pause(POLL);
    const now = await link.carried();
    if (now !== carried) still = 0;
    carried = now;
  }
  return carried;
}
