/** Handshakes over narrow links, with and without certificate substitution, as in figures 4-2 to 4-6 of McVeety (2009); and key requests there. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopAll } from '../../cache-config/child.ts';
import type { KeyKind } from '../../tests/support/certificates.ts';
import { type Crossing, crossed } from '../crossing.ts';
import type { Figure } from '../document.ts';
import { CELL, INMARSAT, IRIDIUM, LOOPBACK, MILSTAR, TCDL } from '../link/kinds.ts';
import { type LinkKind, NarrowLink } from '../link/narrow-link.ts';
import { NearProcess } from '../link/near-process.ts';
import { checkLinks, isSlow } from '../link/ping.ts';
import { Results } from '../link-results.ts';
import { IS_QUICK } from '../quick.ts';
import { described } from './described.ts';
import { startFarSide } from './far.ts';
import { Handshakes, WAYS } from './handshakes.ts';
import { KEY_WAYS, type KeyWay, type NearCommand } from './setting.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
const KINDS = [LOOPBACK, TCDL, CELL, INMARSAT, MILSTAR, IRIDIUM];
const KEY_KINDS: readonly KeyKind[] = ['rsa', 'ecdsa'];
const RUNS = IS_QUICK ? 1 : 3;
/** Where a run takes minutes. */
const RUNS_WHERE_SLOW = 1;

type Near = NearProcess<NearCommand>;

export async function certificatesFigure(say: (text: string) => void): Promise<Figure> {
  const endings: (() => Promise<unknown>)[] = [];
  try {
    const directory = await mkdtemp(join(tmpdir(), 'wispr-evaluate-certificates-'));
    endings.push(() => rm(directory, { recursive: true, force: true }), stopAll);
    const link = await NarrowLink.start();
    endings.push(() => link.stop());
    await mkdir(join(directory, 'near'));
    const far = await startFarSide(directory, endings);
    const near: Near = await NearProcess.start(link, NEAR_SIDE, {
      asked: far.asked,
      root: far.servers.ecdsa.chain.root,
    });
    endings.push(() => near.stop());
    const handshakes = new Handshakes(link, far, join(directory, 'near'));
    endings.push(() => handshakes.stop());
    const pings = await checkLinks(link, KINDS, say);
    const results = new Results(say);
    for (const kind of KINDS) await measure(kind, { link, near, handshakes }, results);
    return described({ kinds: KINDS, pings, results, runs: RUNS, runsWhereSlow: RUNS_WHERE_SLOW });
  } finally {
    for (const end of endings.toReversed()) await end();
  }
}

interface Rig {
  readonly link: NarrowLink;
  readonly near: Near;
  readonly handshakes: Handshakes;
}

async function measure(kind: LinkKind, { link, near, handshakes }: Rig, results: Results): Promise<void> {
  const runs = isSlow(kind) ? RUNS_WHERE_SLOW : RUNS;
  for (let run = 0; run < runs; run++) {
    for (const key of KEY_KINDS)
      for (const way of WAYS) results.add(kind, `${key} ${way.name}`, await handshakes.measure(kind, key, way));
    for (const way of KEY_WAYS) results.add(kind, way, await keyRequest(link, near, kind, way));
  }
}

async function keyRequest(link: NarrowLink, near: Near, kind: LinkKind, way: KeyWay): Promise<Crossing> {
  await near.ask({ do: 'prepare', way });
  return crossed(link, kind, async () => {
    const { milliseconds = Number.NaN } = await near.ask({ do: 'ask', way });
    return milliseconds;
  });
}
