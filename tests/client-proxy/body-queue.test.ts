/** The queue between undici's parser and the consumer of a body: its order, what it holds at most, and when memory is freed. */
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../client-proxy/limits.ts';
import { BodyQueue } from '../../client-proxy/site/body-queue.ts';

/** A sender that pauses as it is asked to. */
function sender() {
  const state = { paused: false, pause: () => undefined, resume: () => undefined, abort: () => undefined };
  const controller = Object.assign(state, {
    pause: () => void Object.assign(state, { paused: true }),
    resume: () => void Object.assign(state, { paused: false }),
  }) as unknown as Dispatcher.DispatchController;
  return { controller, queue: new BodyQueue(controller) };
}

it('keeps the order of chunks, and resumes its sender as they are read', async () => {
  const { controller, queue } = sender();
  let pushed = 0;
  while (!controller.paused) queue.push(Uint8Array.of(++pushed % 256));
  queue.end();
  const received: number[] = [];
  for await (const chunk of queue) received.push(...chunk);
  expect(received).toEqual(Array.from({ length: pushed }, (_, index) => (index + 1) % 256));
  expect([pushed, controller.paused]).toEqual([LIMITS.bodyPieces + 1, false]);
});

it('holds no more bytes than its bound before its sender waits', () => {
  const { controller, queue } = sender();
  let bytes = 0;
  for (; !controller.paused; bytes += 65_536) queue.push(new Uint8Array(65_536));
  expect(bytes).toBeLessThanOrEqual(LIMITS.bodyQueue + 65_536);
});

describe('the memory of a chunk that is not used any more', () => {
  it('is freed where the chunk is alone in it', () => {
    const { queue } = sender();
    const alone = new Uint8Array(65_536);
    queue.spend(alone);
    expect(alone.buffer.detached).toBe(true);
  });

  it('is freed with the head of the answer that stood before the first chunk', () => {
    const { queue } = sender();
    const answer = new Uint8Array(65_536);
    const chunk = answer.subarray(300);
    queue.push(chunk);
    queue.spend(chunk);
    expect(answer.buffer.detached).toBe(true);
  });

  it('is kept where another chunk lies in it', () => {
    const { queue } = sender();
    const read = new Uint8Array(65_536);
    const [first, second] = [read.subarray(100, 300), read.subarray(310)];
    for (const chunk of [first, second, new Uint8Array(8)]) queue.push(chunk);
    queue.spend(second);
    expect([read.buffer.detached, first.length]).toEqual([false, 200]);
  });

  it('is kept at the end of memory that Node.js shares', () => {
    const longest = (Buffer.poolSize >>> 1) - 8;
    const pooled = Array.from({ length: 6 }, () => Buffer.allocUnsafe(longest).fill(1));
    const ends = pooled.map(({ buffer, byteLength }) => new Uint8Array(buffer, buffer.byteLength - byteLength));
    for (const piece of [...pooled, ...ends]) {
      const { queue } = sender();
      queue.push(piece); // the first, behind a head
      queue.spend(piece);
    }
    expect(pooled.map(({ length }) => length)).toEqual(pooled.map(() => longest));
  });
});
