/** Figures 1 and 2: how long a page takes over narrow links, and what goes over the link meanwhile. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../bench/workspace.ts';
import { stopAll } from '../../cache-config/child.ts';
import type { Crossing } from '../crossing.ts';
import { Crossings } from '../crossings.ts';
import { CABLE, CELL, DSL, EDGE, G3, INMARSAT, LOOPBACK } from '../link/kinds.ts';
import { type LinkKind, type NarrowLink, startLink } from '../link/narrow-link.ts';
import { type AskNear, startNear } from '../link/near-process.ts';
import { checkLinks } from '../link/ping.ts';
import { IS_QUICK } from '../quick.ts';
import type { Measurement } from '../results.ts';
import { startFar } from './far.ts';
import { type PageCommand, type ReadingWay, WAYS } from './setting.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
const KINDS = [LOOPBACK, CABLE, DSL, G3, CELL, EDGE, INMARSAT];
const RUNS = IS_QUICK ? 1 : 5;
const SETTLING = 300;

/** The front page of the newspaper, and a chapter of the Debian handbook. */
const PAGES = { front: '/', handbook: '/handbook/apt.html' };

type Near = AskNear<PageCommand>;

export async function pageFigure(report: (text: string) => void): Promise<Measurement> {
  await using endings = new AsyncDisposableStack();
  const directory = await temporaryFolder('evaluate-page', endings);
  endings.defer(stopAll);
  report('publishes the sites');
  const far = await startFar(join(directory, 'far'), endings);
  const link = await startLink(endings);
  await mkdir(join(directory, 'near'));
  report('connects the readers');
  const near: Near = await startNear(link, NEAR_SIDE, { ...far, directory: join(directory, 'near') }, endings);
  const crossings = new Crossings(await checkLinks(link, KINDS, report), report);
  for (const kind of KINDS) await measure(link, near, kind, crossings);
  const tables = Object.keys(PAGES).flatMap((page) => {
    const ways = Object.fromEntries(WAYS.map((way) => [way, `${page}, ${way}`]));
    return [
      [`${page}, s`, crossings.table(ways, 'seconds')],
      [`${page}, KiB`, crossings.table(ways, 'bytes', 1024)],
    ];
  });
  return { settings: { loads: RUNS }, tables: Object.fromEntries(tables) };
}

async function measure(link: NarrowLink, near: Near, kind: LinkKind, crossings: Crossings): Promise<void> {
  for (const [page, path] of Object.entries(PAGES))
    for (let run = 0; run < RUNS; run++)
      for (const way of WAYS) crossings.add(kind, `${page}, ${way}`, await loadOver(link, near, kind, way, path));
}

async function loadOver(
  link: NarrowLink,
  near: Near,
  kind: LinkKind,
  way: ReadingWay,
  path: string,
): Promise<Crossing> {
  await link.become(LOOPBACK);
  await near({ do: 'prepare', way });
  await pause(SETTLING);
  await link.become(kind);
  const before = await link.carried();
  const milliseconds = await near({ do: 'load', path });
  const bytes = (await link.carried()) - before;
  await link.become(LOOPBACK);
  return { milliseconds, bytes };
}
