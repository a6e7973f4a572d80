/**
 * A film of 10 GiB through the personal proxy, beside the floor: how long a jump to anywhere takes, how fast it streams, and how much memory
 * that costs. The film is a sparse file; its protected object is not, and takes 10 GiB on the disk of the temporary directory.
 */
import { mkdir, open } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { memoryOf } from '../load.ts';
import { compare, type Row } from '../measure.ts';
import { SITE, Stage } from '../proxies.ts';
import { createWorkspace, type Workspace } from '../workspace.ts';

const GIB = 2 ** 30;
const LENGTH = Number(process.env.WISPR_BENCH_VIDEO_GIB ?? 10) * GIB;
const PATH = '/film.mp4';
const JUMPS = 40;
/** What a player asks for first after a jump. */
const WANTED = 65_536;
/** What the project wants to stay below, MiB. */
const MEMORY_GOAL = 150;

export async function video10g(): Promise<Row[]> {
  const workspace = await createWorkspace('video');
  const endings: (() => Promise<void>)[] = [workspace.remove];
  try {
    await makeFilm(workspace);
    const stage = await Stage.open(workspace, endings);
    const { url: reader, pid } = await stage.startReader();
    const { url: floor } = await stage.startFloor();
    const contestants = [
      { name: 'wispr proxy', run: async () => Number.NaN },
      { name: 'floor: forward proxy on node:http', run: async () => Number.NaN },
    ];
    const jumps = [await jump(reader), await jump(floor)];
    const speeds = [await stream(reader), await stream(floor)];
    const { peak: memory } = await memoryOf(pid);
    const about = {
      runs: JUMPS,
      bound: 'blocks of 1 MiB: one is fetched, verified and decrypted before its first byte leaves',
    };
    const speed = { row: 'video-stream', unit: 'MB/s', runs: 1, bound: 'one core: SHA-256, AES-256-GCM, copying' };
    const resident = {
      row: 'video-memory',
      unit: 'MiB',
      runs: 1,
      bound: 'the runtime, and the buffers of one connection',
    };
    return [
      ...compare({ row: 'video-jump', unit: 'ms', ...about }, contestants, jumps),
      ...compare(speed, contestants, speeds),
      ...compare(
        resident,
        [contestants[0] ?? { name: '', run: async () => 0 }, { name: 'goal', run: async () => 0 }],
        [memory, MEMORY_GOAL],
      ),
    ];
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

async function makeFilm({ source }: Workspace): Promise<void> {
  await mkdir(source, { recursive: true });
  const file = await open(join(source, PATH), 'w');
  await file.truncate(LENGTH);
  await file.close();
}

/** Milliseconds until the bytes of a jump are there: the median of many, to places all over the film. */
async function jump(proxy: string): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < JUMPS; index++) {
    const start = Math.floor(((index * 0.618) % 1) * (LENGTH - WANTED)); // never twice in one block
    const before = performance.now();
    await fetchAll(proxy, `bytes=${start}-${start + WANTED - 1}`, WANTED, 206);
    times.push(performance.now() - before);
  }
  return times.sort((a, b) => a - b)[Math.floor(JUMPS / 2)] ?? Number.NaN;
}

/** Megabytes a second. */
async function stream(proxy: string): Promise<number> {
  const before = performance.now();
  await fetchAll(proxy, undefined, LENGTH, 200);
  return LENGTH / 1e3 / (performance.now() - before);
}

function fetchAll(proxy: string, range: string | undefined, expected: number, status: number): Promise<void> {
  const { hostname, port } = new URL(proxy);
  const headers = { host: SITE, ...(range !== undefined && { range }) };
  return new Promise((resolve, reject) => {
    get({ hostname, port, path: `http://${SITE}${PATH}`, headers, agent: false }, (answer) => {
      let length = 0;
      answer.on('data', (part: Buffer) => {
        length += part.length;
      });
      answer.on('error', reject).on('end', () => {
        if (answer.statusCode === status && length === expected) resolve();
        else reject(new Error(`${proxy} answered ${answer.statusCode} with ${length} bytes`));
      });
    }).on('error', reject);
  });
}
