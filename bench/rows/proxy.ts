/**
 * Requests a second through the personal proxy, and the processor time of each, beside the floor (a minimal streaming forward proxy on
 * node:http, bench/floor-proxy.ts) and mitmproxy, which carry the same bytes in clear. All fetch from nginx; wrk asks over 10 connections.
 * Three times: a document that was read before comes out of the Reader's own cache, as it does by default; with the cache
 * switched off it comes from nginx every time, as for the peers; and many documents, each for the first time, come from nginx and are kept.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Figures, type Load, measureEachOnce, measureLoad } from '../load.ts';
import { type Contestant, compare, measureLoads, type Row } from '../measure.ts';
import { onStage, SITE, type StartedProxy } from '../proxies.ts';

const RUNS = Number(process.env.WISPR_BENCH_RUNS ?? 5);
const SECONDS = 4;
const MITMPROXY_SECONDS = 2;

const LENGTHS: Readonly<Record<string, { length: number; count: number; bound: string }>> = {
  'proxy-1k': { length: 1024, count: 10_000, bound: 'one core: HTTP on both sides, and the checks of a head' },
  'proxy-64k': { length: 65_536, count: 2_000, bound: 'one core: SHA-256 and AES-256-GCM, HTTP, copying' },
  'proxy-10m': { length: 10 * 1024 * 1024, count: 40, bound: 'one core: SHA-256, AES-256-GCM, copying' },
};

export async function proxyRows(row: string): Promise<Row[]> {
  const { length, count, bound } = LENGTHS[row] ?? { length: 0, count: 0, bound: '' };
  return onStage(
    row,
    (source) => writeDocuments(source, length, count),
    async (stage, workspace) => {
      const [keeping, bare, floor, mitmproxy] = [
        await stage.startReader(),
        await stage.startReader('--cache-size', '0'),
        await stage.startFloor(),
        await stage.startMitmproxy(),
      ];
      const ask = (name: string, proxy: StartedProxy, url: string, load: Partial<Load> = {}) => ({
        name,
        run: () => measureLoad(proxy, { url, seconds: SECONDS, ...load }, workspace),
      });
      const peers = [
        ask(FLOOR, floor, `${stage.plainUrl}/document.bin`),
        ask(MITMPROXY, mitmproxy, `${stage.plainUrl}/document.bin`, { seconds: MITMPROXY_SECONDS }),
      ];
      const again = ask('read again', keeping, `http://${SITE}/document.bin`);
      const uncached = ask('without cache', bare, `http://${SITE}/document.bin`);
      const rows = await besidePeers(row, bound, [again, uncached, ...peers]);
      const first = [
        { name: 'first read', run: () => measureEachOnce(keeping, `http://${SITE}/many/`, count) },
        { name: FLOOR, run: () => measureEachOnce(floor, `${stage.plainUrl}/many/`, count) },
      ];
      return [...rows, ...(await besidePeers(row, `${bound}; making files`, first, 1))];
    },
  );
}

const FLOOR = 'floor: forward proxy on node:http';
const MITMPROXY = 'mitmproxy';

async function besidePeers(
  row: string,
  bound: string,
  contestants: readonly Contestant<Figures>[],
  runs = RUNS,
): Promise<Row[]> {
  if (runs > 1) for (const { run } of contestants) await run(); // warm
  const medians = await measureLoads(contestants, runs);
  const measured = contestants.map(({ name }, index) => ({ name, figures: medians[index] as Figures }));
  const isPeer = ({ name }: { readonly name: string }) => name === FLOOR || name === MITMPROXY;
  return measured.flatMap((one) => {
    if (isPeer(one)) return [];
    const all = [one, ...measured.filter(isPeer)];
    const names = all.map(({ name }) => name);
    const about = { row: `${row}, ${one.name}`, runs, bound };
    const pick = (of: keyof Figures) => all.map(({ figures }) => figures[of]);
    return [
      ...compare({ ...about, unit: 'requests/s' }, names, pick('requestsPerSecond')),
      ...compare({ ...about, unit: 'µs of CPU' }, names, pick('processorTime')),
    ];
  });
}

async function writeDocuments(source: string, length: number, count: number): Promise<void> {
  await writeFile(join(source, 'document.bin'), randomBytes(length));
  await mkdir(join(source, 'many'));
  for (let number = 1; number <= count; number++)
    await writeFile(join(source, 'many', `${number}.bin`), randomBytes(length));
}
