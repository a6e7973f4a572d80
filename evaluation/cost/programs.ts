/** Processor time that each of this project's programs takes, for a byte and for a document: user and system time of all its threads. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeArticles } from '../../bench/articles.ts';
import { withCaches } from '../../bench/caches.ts';
import { startServer } from '../../bench/key-clients.ts';
import { measureEachOnce, measureLoad, measureTree } from '../../bench/load.ts';
import { median } from '../../bench/measure.ts';
import { WISPR } from '../../bench/processes.ts';
import { onStage, SITE } from '../../bench/proxies.ts';
import { whatItTakes } from '../../bench/what-it-takes.ts';
import { forget, inWorkspace, protectArguments, temporaryFolder } from '../../bench/workspace.ts';
import { IS_QUICK } from '../quick.ts';
import { costOfRequest } from '../scale/requests.ts';

/** Nanoseconds. */
export interface Cost {
  readonly name: string;
  /** Cost of a small document, or a request. */
  readonly document: number | undefined;
  /** Cost of each further byte. */
  readonly byte: number | undefined;
}

export const RUNS = IS_QUICK ? 1 : 3;
const SECONDS = 4;
const SMALL = 1024;
const LARGE = 1024 * 1024;
const FILMS = [32 * 1024 * 1024, 288 * 1024 * 1024] as const;
const DOCUMENTS = [1000, 4000] as const;
const DOCUMENT = 8192;
const FIRST_READS = 2000;

/** Measures two runs of each kind, with few and with many: program start, threads and what they load are in both, and cancel out. */
export async function publisher(): Promise<Cost[]> {
  const film = (length: number) => protecting((source) => writeFile(join(source, 'film.bin'), randomBytes(length)));
  const many = (ending: string) => (count: number) =>
    protecting((source) => writeArticles(source, { count, length: DOCUMENT, ending }));
  return [
    { name: 'publisher', document: await between(many('bin'), DOCUMENTS), byte: await between(film, FILMS) },
    { name: 'publisher, text compressed', document: await between(many('txt'), DOCUMENTS), byte: undefined },
  ];
}

async function between(
  timeOf: (count: number) => Promise<number>,
  [few, many]: readonly [number, number],
): Promise<number> {
  const before = await timeOf(few);
  return ((await timeOf(many)) - before) / (many - few);
}

/** @returns nanoseconds */
function protecting(fill: (source: string) => Promise<void>): Promise<number> {
  return inWorkspace('cost', fill, async (workspace) => {
    const times: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      await forget(workspace);
      // A run writes into a folder of its own.
      const args = [WISPR, ...protectArguments(workspace), '--out', join(workspace.directory, `out-${run}`)];
      times.push((await whatItTakes(args, workspace.directory)).processor * 1e9);
    }
    return median(times);
  });
}

/** Protected objects that a cache has, over connections that are kept. */
export function caches(): Promise<Cost[]> {
  return withCaches('cost-caches', { small: SMALL, large: LARGE }, async (servers, [small, large]) => {
    if (!small || !large) throw new Error('there are no objects');
    const costs: Cost[] = [];
    for (const { name, pid, url } of servers) {
      const request = (path: string) =>
        medianOf(async () => (await measureTree(pid, url + path, SECONDS)).processorTime);
      costs.push(slope(name, await request(small.object), await request(large.object), large.length - small.length));
    }
    return costs;
  });
}

/** The Reader: from its cache, without one, and each document for the first time. */
export function proxy(): Promise<Cost[]> {
  const write = async (source: string) => {
    await writeFile(join(source, 'small.bin'), randomBytes(SMALL));
    await writeFile(join(source, 'large.bin'), randomBytes(LARGE));
    await mkdir(join(source, 'many'));
    for (let number = 1; number <= FIRST_READS; number++)
      await writeFile(join(source, 'many', `${number}.bin`), randomBytes(SMALL));
  };
  return onStage('cost-proxy', write, async (stage, workspace) => {
    const [keeping, bare] = [await stage.startReader(), await stage.startReader('--cache-size', '0')];
    const cost = async (name: string, reader: typeof keeping) => {
      const request = (file: string) =>
        medianOf(async () => {
          const load = { url: `http://${SITE}/${file}`, seconds: SECONDS };
          return (await measureLoad(reader, load, workspace)).processorTime;
        });
      return slope(name, await request('small.bin'), await request('large.bin'), LARGE - SMALL);
    };
    const costs = [await cost('proxy, from its cache', keeping), await cost('proxy, without cache', bare)];
    const first = await measureEachOnce(keeping, `http://${SITE}/many/`, FIRST_READS);
    return [...costs, { name: 'proxy, first read', document: first.processorTime * 1000, byte: undefined }];
  });
}

/** A key request: authenticated, written down, answered. */
export async function keyServer(): Promise<Cost[]> {
  await using endings = new AsyncDisposableStack();
  const server = await startServer(['sqlite', await temporaryFolder('cost-keys', endings)]);
  endings.defer(server.stop);
  return [{ name: 'key server, a key request', document: (await costOfRequest(server, RUNS)) * 1e6, byte: undefined }];
}

/** @param small - microseconds of a request, as `large` @param more - bytes that the large one has more */
function slope(name: string, small: number, large: number, more: number): Cost {
  return { name, document: small * 1000, byte: ((large - small) * 1000) / more };
}

export async function medianOf(measure: () => Promise<number>): Promise<number> {
  await measure(); // warm
  const figures: number[] = [];
  for (let run = 0; run < RUNS; run++) figures.push(await measure());
  return median(figures);
}
