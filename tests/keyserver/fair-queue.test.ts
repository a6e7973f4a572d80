import { describe, expect, it } from 'vitest';
import { FairQueue, type QueueBounds } from '../../keyserver/hashing/fair-queue.ts';

/** A queue whose works end when they are told to, and what began and was refused, in order. */
function controlled({ slots, ...bounds }: QueueBounds & { readonly slots: number }) {
  const queue = new FairQueue(
    bounds,
    Array.from({ length: slots }, (_, index) => index),
  );
  const begun: string[] = [];
  const refused: string[] = [];
  const ends: (() => void)[] = [];
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    queue,
    begun,
    refused,
    /** Adds works, named by address and number. */
    add: async (...names: string[]) => {
      for (const name of names) {
        const work = () => {
          begun.push(name);
          return new Promise<void>((resolve) => ends.push(resolve));
        };
        queue.run(name[0] ?? '', work).catch(({ code }) => refused.push(`${name} ${code}`));
        await settle();
      }
    },
    /** Lets the oldest running work end. */
    end: async (count = 1) => {
      for (let index = 0; index < count; index++) {
        ends.shift()?.();
        await settle();
      }
    },
  };
}

describe('a fair queue', () => {
  it('attack 104: full, turns away the newest of the address with most, never a newcomer with less', async () => {
    const { begun, refused, add, end } = controlled({ slots: 1, waitingPerAddress: 9, waitingPerSlot: 4 });
    await add('a1', 'a2', 'a3', 'a4', 'b1', 'c1');
    expect(refused).toEqual(['a4 busy']);
    await add('d1');
    expect(refused).toEqual(['a4 busy', 'a3 busy']);
    await add('e1', 'b2');
    expect(refused).toEqual(['a4 busy', 'a3 busy', 'e1 busy', 'b2 busy']);
    await end(5);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'd1']);
  });

  it('begins what waits at a slot that is added, and nothing more at one that is removed', async () => {
    const { queue, begun, refused, add, end } = controlled({ slots: 1, waitingPerAddress: 9, waitingPerSlot: 2 });
    await add('a1', 'b1', 'c1', 'd1');
    expect([begun, refused]).toEqual([['a1'], ['d1 busy']]);
    queue.add(1);
    await add('d1', 'e1', 'f1');
    expect([begun, refused]).toEqual([['a1', 'b1'], ['d1 busy']]);
    queue.remove(0);
    await end();
    expect(begun).toEqual(['a1', 'b1']);
    await end();
    expect(begun).toEqual(['a1', 'b1', 'c1']);
    queue.remove(1);
    await end();
    await add('g1');
    expect([begun, refused]).toEqual([
      ['a1', 'b1', 'c1'],
      ['d1 busy', 'g1 busy'],
    ]);
  });
});
