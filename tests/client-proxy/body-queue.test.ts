/** The queue between undici's parser and whoever reads: its order, and what it holds at most. */
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { BodyQueue } from '../../client-proxy/content/body-queue.ts';
import { LIMITS } from '../../client-proxy/limits.ts';

/** A sender that does as it is told. */
function sender() {
  const state = { paused: false, pause: () => undefined, resume: () => undefined, abort: () => undefined };
  const controller = Object.assign(state, {
    pause: () => void Object.assign(state, { paused: true }),
    resume: () => void Object.assign(state, { paused: false }),
  }) as unknown as Dispatcher.DispatchController;
  return { controller, queue: new BodyQueue(controller) };
}

describe('a body in crumbs', () => {
  it('makes its sender wait after so many pieces, and is read in few', async () => {
    const { controller, queue } = sender();
    const sent: number[] = [];
    const received: number[] = [];
    let reads = 0;
    for (let round = 0; round < 20; round++) {
      while (!controller.paused) {
        sent.push(sent.length % 256);
        queue.push(Uint8Array.of(sent.length - 1));
      }
      const { value } = await queue.next();
      received.push(...(value ?? []));
      reads++;
    }
    queue.end();
    for await (const piece of queue) received.push(...piece);
    expect(sent.length).toBeLessThan(21 * (LIMITS.bodyPieces + 1));
    expect(reads).toBe(20);
    expect(received).toEqual(sent);
  });

  it('between large pieces keeps its order, and the bound on pieces', async () => {
    const { controller, queue } = sender();
    let pushed = 0;
    for (const length of [4_000, 1, 4_000, 1, 1, 1, 9_000]) queue.push(new Uint8Array(length).fill(++pushed));
    const received: number[] = [];
    for (let read = 0; read < 3; read++) received.push(...((await queue.next()).value ?? []));
    for (; !controller.paused; ) queue.push(new Uint8Array(2_000).fill(++pushed));
    queue.end();
    for await (const piece of queue) received.push(...piece);
    expect(received.filter((value, index) => value !== received[index - 1])).toEqual(
      Array.from({ length: pushed }, (_, index) => (index + 1) % 256),
    );
    expect(controller.paused).toBe(false);
  });

  it('holds no more bytes than it may before its sender waits', () => {
    const { controller, queue } = sender();
    let bytes = 0;
    for (; !controller.paused; bytes += 65_536) queue.push(new Uint8Array(65_536));
    expect(bytes).toBeLessThanOrEqual(LIMITS.bodyQueue + 65_536);
  });
});

describe('a chunk that nobody looks into any more', () => {
  it('is given back where it is alone in its memory', () => {
    const { queue } = sender();
    const alone = new Uint8Array(65_536);
    queue.spend(alone);
    expect(alone.buffer.detached).toBe(true);
  });

  it('is given back with the head of its answer, which stood before it', () => {
    const { queue } = sender();
    const answer = new Uint8Array(65_536);
    const chunk = answer.subarray(300);
    queue.push(chunk);
    queue.spend(chunk);
    expect(answer.buffer.detached).toBe(true);
  });

  it('is left alone where another lies in the same memory, which may be looked into for longer', () => {
    const { queue } = sender();
    const read = new Uint8Array(65_536);
    const [first, second] = [read.subarray(100, 300), read.subarray(310)];
    for (const chunk of [first, second, new Uint8Array(8)]) queue.push(chunk);
    queue.spend(second);
    expect([read.buffer.detached, first.length]).toEqual([false, 200]);
  });

  it('is left alone where more may follow it in its memory', () => {
    const { queue } = sender();
    const read = new Uint8Array(65_536);
    const chunk = read.subarray(300, 65_000);
    queue.push(chunk);
    queue.spend(chunk);
    expect(read.buffer.detached).toBe(false);
  });

  it('is left alone at the end of memory that Node.js shares out', () => {
    const pooled: Buffer[] = [];
    // Every piece of a pool, to its very end.
    const longest = (Buffer.poolSize >>> 1) - 8;
    for (let left = 3 * Buffer.poolSize; left > 0; left -= longest) pooled.push(Buffer.allocUnsafe(longest).fill(1));
    const ends = pooled.map(({ buffer, byteLength }) => new Uint8Array(buffer, buffer.byteLength - byteLength));
    for (const piece of [...pooled, ...ends]) {
      const { queue } = sender();
      queue.push(piece); // the first, behind a head
      queue.spend(piece);
    }
    expect(pooled.map(({ length }) => length)).toEqual(pooled.map(() => longest));
  });

  it('is left alone where it is not, as others stand beside it', () => {
    const { queue } = sender();
    const answer = Buffer.from('HTTP/1.1 200 OK the head, and what it is the head of');
    for (const chunk of [answer.subarray(16), answer.subarray(0, 16), Buffer.from('pooled')]) {
      queue.spend(chunk);
      expect(chunk.buffer.byteLength).toBeGreaterThan(0);
    }
    expect(answer.toString('latin1', 0, 8)).toBe('HTTP/1.1');
  });
});
