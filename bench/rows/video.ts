/**
 * A film of 10 GiB through the personal proxy, beside the floor: how long a jump to anywhere takes, how fast it streams, and how much memory
 * that costs. The film is a sparse file; its protected object is not, and takes 10 GiB on the disk of the temporary directory.
 */
import { join } from 'node:path';
import { writeSparse } from '../articles.ts';
import { ask } from '../ask.ts';
import { memoryOf } from '../load.ts';
import { compare, median, type Row } from '../measure.ts';
import { SITE } from '../proxies.ts';
import { FLOOR, MEMORY_GOAL, onStage } from './proxy.ts';

const LENGTH = Number(process.env.WISPR_BENCH_VIDEO_GIB ?? 10) * 2 ** 30;
const PATH = '/film.mp4';
const JUMPS = 40;
/** What a player asks for first after a jump. */
const WANTED = 65_536;

export function video10g(): Promise<Row[]> {
  const write = (source: string) => writeSparse(join(source, PATH), LENGTH);
  return onStage('video', write, async (stage) => {
    const { url: reader, pid } = await stage.startReader();
    const { url: floor } = await stage.startFloor();
    const names = ['wispr proxy', FLOOR];
    const blocks = 'blocks of 1 MiB: one is fetched, verified and decrypted before its first byte leaves';
    const jumps = { row: 'video-jump', unit: 'ms', runs: JUMPS, bound: blocks };
    const speed = { row: 'video-stream', unit: 'MB/s', runs: 1, bound: 'one core: SHA-256, AES-256-GCM, copying' };
    const bound = 'the runtime, and the buffers of one connection';
    return [
      ...compare(jumps, names, [await jump(reader), await jump(floor)]),
      ...compare(speed, names, [await stream(reader), await stream(floor)]),
      ...compare(
        { row: 'video-memory', unit: 'MiB', runs: 1, bound },
        ['wispr proxy', 'goal'],
        [(await memoryOf(pid)).peak, MEMORY_GOAL],
      ),
    ];
  });
}

/** Milliseconds until the bytes of a jump are there: the median of many, to places all over the film. */
async function jump(proxy: string): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < JUMPS; index++) {
    const start = Math.floor(((index * 0.618) % 1) * (LENGTH - WANTED)); // never twice in one block
    const before = performance.now();
    await fetchAll(proxy, { range: `bytes=${start}-${start + WANTED - 1}` }, WANTED);
    times.push(performance.now() - before);
  }
  return median(times);
}

/** Megabytes a second. */
async function stream(proxy: string): Promise<number> {
  const before = performance.now();
  await fetchAll(proxy, {}, LENGTH);
  return LENGTH / 1e3 / (performance.now() - before);
}

async function fetchAll(proxy: string, headers: Record<string, string>, expected: number): Promise<void> {
  const { status, length } = await ask({ proxy, url: `http://${SITE}${PATH}`, headers });
  if (status >= 300 || length !== expected) throw new Error(`${proxy} answered ${status} with ${length} bytes`);
}
