/** What the personal proxy costs besides throughput: time to the first byte, and memory. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { writeSparse } from '../articles.ts';
import { ask } from '../ask.ts';
import { compare, measureAlternately, median, type Row } from '../measure.ts';
import { memoryOf } from '../proc.ts';
import { onStage, SITE, type Stage } from '../proxies.ts';
import { FLOOR, MEMORY_GOAL } from './proxy.ts';

const LENGTH = 65_536;
const REQUESTS = 400;
const RUNS = 5;
const GIB = 2 ** 30;
/** A film of this length, as often as it takes. */
const FILM = GIB;
const STREAMED = Number(process.env.WISPR_BENCH_STREAM_GIB ?? 10) * GIB;
const CONNECTIONS = 1000;

const writeDocument = (source: string) => writeFile(join(source, 'document.bin'), randomBytes(LENGTH));

/** Milliseconds to the first byte that a proxy adds to those of nginx by itself: medians of requests one after the other. */
export async function ttfbRows(row: string): Promise<Row[]> {
  return onStage(row, writeDocument, async (stage) => {
    const [keeping, bare, floor] = [
      await stage.startReader(),
      await stage.startReader('--cache-size', '0'),
      await stage.startFloor(),
    ];
    const contestants = [
      { name: 'read again', run: () => firstByte(keeping.url, `http://${SITE}`) },
      { name: 'without cache', run: () => firstByte(bare.url, `http://${SITE}`) },
      { name: FLOOR, run: () => firstByte(floor.url, stage.plainUrl) },
      { name: 'nginx', run: () => firstByte(stage.plainUrl, stage.plainUrl) },
    ];
    for (const { run } of contestants) await run();
    const [again = 0, uncached = 0, byFloor = 0, direct = 0] = await measureAlternately(contestants, RUNS);
    const about = { unit: 'ms added', runs: RUNS, bound: 'one core, and the scheduling of three processes' };
    const beside = (name: string, value: number) =>
      compare({ row: `${row}, ${name}`, ...about }, [name, FLOOR], [value - direct, byFloor - direct]);
    return [...beside('read again', again), ...beside('without cache', uncached)];
  });
}

async function firstByte(proxy: string, origin: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let number = 0; number < REQUESTS; number++) {
    const { status, firstByte } = await ask({ proxy, url: `${origin}/document.bin`, agent });
    if (status !== 200) throw new Error(`${proxy} answered ${status}`);
    times.push(firstByte);
  }
  agent.destroy();
  return median(times);
}

/** MiB that the Reader has in memory at most, while 10 GiB stream through it, and with 1,000 connections that each have got a document. */
export async function memoryRows(row: string): Promise<Row[]> {
  const write = async (source: string) => {
    await writeDocument(source);
    await writeSparse(join(source, 'film.bin'), FILM);
  };
  return onStage(row, write, async (stage) => [
    ...goal(`${row}, streaming ${STREAMED / GIB} GiB`, await whileStreaming(stage)),
    ...goal(`${row}, ${CONNECTIONS} connections`, await withConnections(stage)),
  ]);
}

async function whileStreaming(stage: Stage): Promise<number> {
  const { url: proxy, pid, stop } = await stage.startReader();
  for (let streamed = 0; streamed < STREAMED; streamed += FILM) {
    const { status, length } = await ask({ proxy, url: `http://${SITE}/film.bin` });
    if (status !== 200 || length !== FILM) throw new Error(`${proxy} answered ${status} with ${length} bytes`);
  }
  const { peak } = await memoryOf(pid);
  await stop();
  return peak;
}

async function withConnections(stage: Stage): Promise<number> {
  const { url: proxy, pid } = await stage.startReader();
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: CONNECTIONS });
  for (let round = 0; round < 3; round++) {
    const requests = Array.from({ length: CONNECTIONS }, () =>
      ask({ proxy, url: `http://${SITE}/document.bin`, agent }),
    );
    if ((await Promise.all(requests)).some(({ status }) => status !== 200)) throw new Error('not all were answered');
  }
  const { peak } = await memoryOf(pid);
  agent.destroy();
  return peak;
}

function goal(row: string, value: number): Row[] {
  const bound = 'the runtime (100 at rest), and what waits to be collected';
  return compare({ row, unit: 'MiB', runs: 1, bound }, ['wispr proxy', 'goal'], [value, MEMORY_GOAL]);
}
