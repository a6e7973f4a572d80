/** Figure 5: what HTTPS takes away, caches and compression in the path, on sites that are public; after Naylor et al. (2014). */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopAll } from '../../cache-config/child.ts';
import { makeChain } from '../../tests/support/certificates.ts';
import { crossed } from '../crossing.ts';
import type { Figure } from '../document.ts';
import { DSL, G3, INMARSAT } from '../link/kinds.ts';
import { type LinkKind, NarrowLink } from '../link/narrow-link.ts';
import { NearProcess } from '../link/near-process.ts';
import { checkLinks } from '../link/ping.ts';
import { Results } from '../link-results.ts';
import { IS_QUICK } from '../quick.ts';
import { described } from './described.ts';
import { startFar } from './far.ts';
import { recordedPages } from './recorded.ts';
import { HOSTS, type NearCommand, type NearSetting, SITES, WAYS } from './setting.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
const KINDS = [DSL, G3, INMARSAT];
const RUNS = IS_QUICK ? 1 : 3;

export async function sitesFigure(say: (text: string) => void): Promise<Figure> {
  const endings: (() => Promise<unknown>)[] = [];
  try {
    const directory = await mkdtemp(join(tmpdir(), 'wispr-evaluate-sites-'));
    endings.push(() => rm(directory, { recursive: true, force: true }), stopAll);
    const recorded = await recordedPages();
    const chain = await makeChain(directory, 'sites', 'ecdsa', [`DNS:${HOSTS.tls}`, `DNS:${HOSTS.tlsCompressed}`]);
    endings.push(await startFar(directory, chain));
    const link = await NarrowLink.start();
    endings.push(() => link.stop());
    const nearDirectory = join(directory, 'near');
    await mkdir(nearDirectory);
    const setting: NearSetting = { directory: nearDirectory, pin: chain.pin };
    const near: NearProcess<NearCommand> = await NearProcess.start(link, NEAR_SIDE, setting);
    endings.push(() => near.stop());
    const pings = await checkLinks(link, KINDS, say);
    const results = new Results(say);
    for (const kind of KINDS) for (let run = 0; run < RUNS; run++) await loadAll(link, near, kind, results);
    return await described({ kinds: KINDS, pings, results, runs: RUNS, recorded });
  } finally {
    for (const end of endings.toReversed()) await end();
  }
}

/** Each site by each way: a cache is warm for the way after the one that it was cold for. */
async function loadAll(
  link: NarrowLink,
  near: NearProcess<NearCommand>,
  kind: LinkKind,
  results: Results,
): Promise<void> {
  for (const site of SITES) {
    for (const [way, { name }] of WAYS.entries()) {
      await near.ask({ do: 'prepare', way });
      const crossing = await crossed(link, kind, async () => {
        const { milliseconds = Number.NaN } = await near.ask({ do: 'load', path: site.at + site.page });
        return milliseconds;
      });
      results.add(kind, `${site.package} ${name}`, crossing);
    }
  }
}
