/** Figures 1 and 2: how long a page takes over narrow links, and what goes over the link meanwhile. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median } from '../../bench/measure.ts';
import { stopAll } from '../../cache-config/child.ts';
import { capital, type Figure, section, table } from '../document.ts';
import { CABLE, CELL, DSL, EDGE, G3, INMARSAT, IRIDIUM, LOOPBACK } from '../link/kinds.ts';
import { type LinkKind, NarrowLink } from '../link/narrow-link.ts';
import { NearProcess } from '../link/near-process.ts';
import { checkLinks, isSlow } from '../link/ping.ts';
import { bars } from '../plot.ts';
import { IS_QUICK } from '../quick.ts';
import { startFar } from './far.ts';
import { type NearCommand, WAYS, type Way } from './setting.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
/** `quick`: each page once, and not over the slowest link, where a load takes minutes. */
const KINDS = [LOOPBACK, CABLE, DSL, G3, CELL, EDGE, INMARSAT, ...(IS_QUICK ? [] : [IRIDIUM])];
const RUNS = IS_QUICK ? 1 : 5;
/** A load takes minutes there. */
const RUNS_AT_LEAST_SPEED = 1;
const SETTLING = 300;
const RUN_HOW = IS_QUICK ? 'One load each.' : `Medians of ${RUNS} loads, ${RUNS_AT_LEAST_SPEED} on Iridium.`;

const PAGES = [
  { name: 'front page of the newspaper', short: 'front', path: '/' },
  { name: 'a chapter of the Debian handbook', short: 'handbook', path: '/handbook/apt.html' },
];

/** One load. */
interface Load {
  readonly milliseconds: number;
  /** On the link, both ways. */
  readonly bytes: number;
}

type Near = NearProcess<NearCommand>;
type Results = Map<LinkKind, Map<Way, Load[]>>;

export async function pageFigure(say: (text: string) => void): Promise<Figure> {
  const endings: (() => Promise<unknown>)[] = [];
  try {
    const directory = await mkdtemp(join(tmpdir(), 'wispr-evaluate-page-'));
    endings.push(() => rm(directory, { recursive: true, force: true }), stopAll);
    say('publishes the sites');
    const far = await startFar(join(directory, 'far'), endings);
    const link = await NarrowLink.start();
    endings.push(() => link.stop());
    await mkdir(join(directory, 'near'));
    say('connects the readers');
    const near: Near = await NearProcess.start(link, NEAR_SIDE, { ...far, directory: join(directory, 'near') });
    endings.push(() => near.stop());
    const checks = await checkLinks(link, KINDS, say);
    const results = new Map<string, Results>();
    for (const { name, path } of PAGES)
      results.set(name, await measure(link, near, path, (text) => say(`${name}: ${text}`)));
    return described(results, checks);
  } finally {
    for (const end of endings.toReversed()) await end();
  }
}

async function measure(link: NarrowLink, near: Near, path: string, say: (text: string) => void): Promise<Results> {
  const results: Results = new Map(KINDS.map((kind) => [kind, new Map(WAYS.map((way) => [way, [] as Load[]]))]));
  for (const kind of KINDS) {
    const runs = isSlow(kind) ? RUNS_AT_LEAST_SPEED : RUNS;
    for (let run = 0; run < runs; run++) {
      for (const way of WAYS) {
        const load = await loadOver(link, near, kind, way, path);
        results.get(kind)?.get(way)?.push(load);
        say(`${kind.name}, ${way}: ${(load.milliseconds / 1000).toFixed(2)} s, ${load.bytes} bytes`);
      }
    }
  }
  return results;
}

async function loadOver(link: NarrowLink, near: Near, kind: LinkKind, way: Way, path: string): Promise<Load> {
  await link.become(LOOPBACK);
  await near.ask({ do: 'prepare', way });
  await pause(SETTLING);
  await link.become(kind);
  const before = await link.carried();
  const { milliseconds = Number.NaN } = await near.ask({ do: 'load', path });
  const after = await link.carried();
  await link.become(LOOPBACK);
  const bytes = after.up.bytes - before.up.bytes + after.down.bytes - before.down.bytes;
  return { milliseconds, bytes };
}

function described(results: ReadonlyMap<string, Results>, pings: ReadonlyMap<LinkKind, number>): Figure {
  const plots: Record<string, string> = {};
  const sections: string[] = [];
  for (const { name, short } of PAGES) {
    const found = results.get(name) ?? new Map();
    const groups = KINDS.map((kind) => kind.name);
    const series = (of: keyof Load, scale: number) =>
      WAYS.map((way) => ({ name: way, values: KINDS.map((kind) => figureOf(found, kind, way, of) / scale) }));
    plots[`page-${short}`] = bars({
      title: `Seconds to ${name}`,
      unit: 's',
      groups,
      series: series('milliseconds', 1000),
      logarithmic: true,
    });
    plots[`bytes-${short}`] = bars({
      title: `Bytes on the link for ${name}`,
      unit: 'KiB',
      groups,
      series: series('bytes', 1024),
    });
    const measured = (of: keyof Load, form: (value: number) => string) =>
      table(['link', 'ping', ...WAYS], rowsOf(found, pings, of, form));
    sections.push(
      section(
        `${capital(name)}: seconds until the page and its pictures are there`,
        measured('milliseconds', (value) => (value / 1000).toPrecision(3)),
        `page-${short}`,
      ),
      section(
        `${capital(name)}: KiB on the link, both ways, IP headers included`,
        measured('bytes', (value) => (value / 1024).toFixed(1)),
        `bytes-${short}`,
      ),
    );
  }
  return { runs: RUN_HOW, sections, plots };
}

function rowsOf(
  found: Results,
  pings: ReadonlyMap<LinkKind, number>,
  of: keyof Load,
  form: (value: number) => string,
): string[][] {
  return KINDS.map((kind) => [
    kind.name,
    `${Math.round(pings.get(kind) ?? Number.NaN)} ms`,
    ...WAYS.map((way) => form(figureOf(found, kind, way, of))),
  ]);
}

function figureOf(found: Results, kind: LinkKind, way: Way, of: keyof Load): number {
  return median((found.get(kind)?.get(way) ?? []).map((load) => load[of]));
}
