/** Figures 1 and 2: how long a page takes over narrow links, and what goes over the link meanwhile. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../bench/workspace.ts';
import { stopAll } from '../../cache-config/child.ts';
import type { Crossing } from '../crossing.ts';
import { Crossings } from '../crossings.ts';
import { CELL, DSL, EDGE, G3, INMARSAT, LOOPBACK } from '../link/kinds.ts';
import type { Load } from '../link/load.ts';
import { type LinkKind, type NarrowLink, startLink } from '../link/narrow-link.ts';
import { type AskNear, startNear } from '../link/near-process.ts';
import { checkLinks } from '../link/ping.ts';
import { IS_QUICK } from '../quick.ts';
import type { Measurement } from '../results.ts';
import { startFar } from './far.ts';
import { type PageCommand, type ReadingWay, WAYS } from './setting.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
const KINDS = [LOOPBACK, DSL, G3, CELL, EDGE, INMARSAT];
const RUNS = IS_QUICK ? 1 : 3;
/** Milliseconds one way, from which on loads take a minute. */
const SLOW = 200;
const RUNS_WHERE_SLOW = IS_QUICK ? 1 : 2;
const SETTLING = 300;

/** Pages by the name of their figure: the front page of the newspaper, and a chapter of the Debian handbook. */
const PAGES = {
  front: { path: '/', headline: 'Winter timetable: ferry to run on time' },
  handbook: { path: '/handbook/apt.html', headline: 'Caching Proxy for Debian Packages' },
};

type Near = AskNear<PageCommand>;

export async function pageFigure(page: keyof typeof PAGES, report: (text: string) => void): Promise<Measurement> {
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
  for (const kind of KINDS)
    for (let run = 0; run < (kind.delay < SLOW ? RUNS : RUNS_WHERE_SLOW); run++)
      for (const way of WAYS) crossings.add(kind, way, await loadOver(link, near, kind, way, PAGES[page]));
  const ways = Object.fromEntries(WAYS.map((way) => [way, way]));
  return {
    settings: { loads: RUNS, loadsWhereSlow: RUNS_WHERE_SLOW },
    tables: {
      [`${page}, s`]: crossings.table(ways, 'seconds'),
      [`${page}, KiB`]: crossings.table(ways, 'bytes', 1024),
    },
  };
}

async function loadOver(link: NarrowLink, near: Near, kind: LinkKind, way: ReadingWay, load: Load): Promise<Crossing> {
  await link.become(LOOPBACK);
  await near({ do: 'prepare', way });
  await pause(SETTLING);
  await link.become(kind);
  const before = await link.carried();
  const milliseconds = await near({ do: 'load', ...load });
  const bytes = (await link.carried()) - before;
  await link.become(LOOPBACK);
  return { milliseconds, bytes };
}
