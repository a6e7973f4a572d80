/** The memory of runs that are not wanted any more comes back, at whatever point that is known. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sha256 } from '#primitives';
import { BlockOpener } from '../../client-proxy/documents/opening/block-opener.ts';
import { OpenedRuns, type RunSupply } from '../../client-proxy/documents/opening/opened-runs.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { concatAll } from '../../core/encoding/bytes.ts';
import { blockRange } from '../../core/object/geometry.ts';

const BLOCKS = 40;
const BLOCK = 65_536;
/** Of a signed document full of zeros, which is its own message. */
const SHAPE = { encrypted: false, payloadLength: BLOCKS * BLOCK, blockChunks: 4 };

let opener: BlockOpener;
beforeEach(() => {
  opener = new BlockOpener();
});
afterEach(() => opener.close());

const isAllBack = () => opener.memory.has(Math.floor(LIMITS.runMemory / LIMITS.run), LIMITS.run);

interface Stream extends RunSupply {
  /** Runs that went to a thread. */
  runs: number;
}

/** @param arrives - resolves when a block is there */
async function streamOf(arrives: (index: number) => Promise<void>): Promise<Stream> {
  const digest = await sha256(new Uint8Array(BLOCK));
  const no = () => Promise.reject(new Error('nothing of this kind is expected here'));
  const stream: Stream = {
    runs: 0,
    reader: {
      rangeOfBlock: (index) => blockRange(SHAPE, index),
      runOf: (first, end) => {
        stream.runs++;
        const digests = concatAll(Array.from({ length: end - first }, () => digest));
        return { shape: SHAPE, first, end, digests, keys: undefined };
      },
    },
    useFile: () => undefined,
    readBlock: async (index, target) => {
      await arrives(index);
      target.fill(0);
    },
    openBlock: no,
    isKeeping: false,
    keepRun: () => undefined,
    recover: no,
  };
  return stream;
}

it('that went to a thread when the client left', async () => {
  const stream = await streamOf(async () => undefined);
  const runs = new OpenedRuns(stream, opener, 0, BLOCKS)[Symbol.asyncIterator]();
  const { value } = await runs.next();
  expect([value?.length, stream.runs > 1]).toEqual([expect.any(Number), true]);
  expect(isAllBack()).toBe(false);
  await runs.return(undefined);
  await expect.poll(isAllBack).toBe(true);
});

it('of which blocks were still coming when the client left', async () => {
  const rest = Promise.withResolvers<void>();
  let isWaiting = false;
  const stream = await streamOf(async (index) => {
    if (index === 0) return;
    isWaiting = true;
    await rest.promise;
  });
  const runs = new OpenedRuns(stream, opener, 0, BLOCKS)[Symbol.asyncIterator]();
  expect((await runs.next()).value).toHaveLength(BLOCK);
  await expect.poll(() => isWaiting).toBe(true);
  const begun = stream.runs;
  await runs.return(undefined);
  await setTimeout(10);
  expect(isAllBack()).toBe(false);
  rest.resolve();
  await expect.poll(() => stream.runs).toBe(begun + 1);
  await expect.poll(isAllBack).toBe(true);
});
