/** Handshakes over narrow links, with and without certificate substitution, as in figures 4-2 to 4-6 of McVeety (2009); and key requests there. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../bench/workspace.ts';
import { stopAll } from '../../cache-config/child.ts';
import type { KeyKind } from '../../tests/support/certificates.ts';
import { type Crossing, measureCrossing } from '../crossing.ts';
import { Crossings } from '../crossings.ts';
import { CELL, INMARSAT, IRIDIUM, LOOPBACK, MILSTAR, TCDL } from '../link/kinds.ts';
import { type LinkKind, type NarrowLink, startLink } from '../link/narrow-link.ts';
import { type AskNear, startNear } from '../link/near-process.ts';
import { checkLinks, isSlow } from '../link/ping.ts';
import { IS_QUICK } from '../quick.ts';
import type { Measurement, Table } from '../results.ts';
import { startFarSide } from './far.ts';
import { Handshakes, WAYS } from './handshakes.ts';
import { KEY_WAYS, type KeyRequestCommand, type KeyRequestSetting, type KeyWay } from './setting.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
const KINDS = [LOOPBACK, TCDL, CELL, INMARSAT, MILSTAR, IRIDIUM];
const KEY_KINDS: readonly KeyKind[] = ['rsa', 'ecdsa'];
const RUNS = IS_QUICK ? 1 : 3;
/** Links on which a run takes minutes. */
const RUNS_WHERE_SLOW = 1;

type Near = AskNear<KeyRequestCommand>;

export async function certificatesFigure(report: (text: string) => void): Promise<Measurement> {
  await using endings = new AsyncDisposableStack();
  const directory = await temporaryFolder('evaluate-certificates', endings);
  endings.defer(stopAll);
  const link = await startLink(endings);
  await mkdir(join(directory, 'near'));
  const far = await startFarSide(directory, endings);
  const setting: KeyRequestSetting = { facts: far.facts, root: far.servers.ecdsa.chain.root };
  const near: Near = await startNear(link, NEAR_SIDE, setting, endings);
  const handshakes = new Handshakes(link, far.servers, join(directory, 'near'));
  endings.defer(() => handshakes.stop());
  const pings = await checkLinks(link, KINDS, report);
  const crossings = new Crossings(pings, report);
  for (const kind of KINDS) await measure(kind, { link, near, handshakes }, crossings);
  return { settings: { runs: RUNS, runsOnSlowLinks: RUNS_WHERE_SLOW }, tables: tablesOf(crossings) };
}

function tablesOf(crossings: Crossings): Record<string, Table> {
  const ways = (key: KeyKind) => Object.fromEntries(WAYS.map(({ name }) => [name, `${key} ${name}`]));
  const requests = Object.fromEntries(KEY_WAYS.map((way) => [way, way]));
  return {
    'rsa, s': crossings.table(ways('rsa'), 'seconds'),
    'rsa, bytes': crossings.table(ways('rsa'), 'bytes'),
    'ecdsa, s': crossings.table(ways('ecdsa'), 'seconds'),
    'key request, s': crossings.table(requests, 'seconds'),
    'key request, bytes': crossings.table(requests, 'bytes'),
  };
}

interface Rig {
  readonly link: NarrowLink;
  readonly near: Near;
  readonly handshakes: Handshakes;
}

async function measure(kind: LinkKind, { link, near, handshakes }: Rig, crossings: Crossings): Promise<void> {
  const runs = isSlow(kind) ? RUNS_WHERE_SLOW : RUNS;
  for (let run = 0; run < runs; run++) {
    for (const key of KEY_KINDS)
      for (const way of WAYS) crossings.add(kind, `${key} ${way.name}`, await handshakes.measure(kind, key, way));
    for (const way of KEY_WAYS) crossings.add(kind, way, await keyRequest(link, near, kind, way));
  }
}

async function keyRequest(link: NarrowLink, near: Near, kind: LinkKind, way: KeyWay): Promise<Crossing> {
  await near({ do: 'prepare', way });
  return measureCrossing(link, kind, () => near({ do: 'ask', way }));
}
