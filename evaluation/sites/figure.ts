/** Figure 5: what HTTPS takes away, caches and compression in the path, on sites that are public; after Naylor et al. (2014). */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../bench/measure.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import { stopAll } from '../../cache-config/child.ts';
import { makeChain } from '../../tests/support/certificates.ts';
import { measureCrossing } from '../crossing.ts';
import { Crossings } from '../crossings.ts';
import { DSL, EDGE, G3 } from '../link/kinds.ts';
import { type LinkKind, type NarrowLink, startLink } from '../link/narrow-link.ts';
import { type AskNear, startNear } from '../link/near-process.ts';
import { checkLinks } from '../link/ping.ts';
import { IS_QUICK } from '../quick.ts';
import { type Measurement, type Table, table } from '../results.ts';
import { startFar } from './far.ts';
import { HOSTS, SITES, type SiteCommand, type SiteSetting, WAYS } from './setting.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
const KINDS = [DSL, G3, EDGE];
const RUNS = IS_QUICK ? 1 : 2;

export async function sitesFigure(report: (text: string) => void): Promise<Measurement> {
  await using endings = new AsyncDisposableStack();
  const directory = await temporaryFolder('evaluate-sites', endings);
  endings.defer(stopAll);
  const chain = await makeChain(directory, 'sites', 'ecdsa', [`DNS:${HOSTS.tls}`, `DNS:${HOSTS.tlsCompressed}`]);
  endings.defer(await startFar(directory, chain));
  const link = await startLink(endings);
  const nearDirectory = join(directory, 'near');
  await mkdir(nearDirectory);
  const setting: SiteSetting = { directory: nearDirectory, pin: chain.pin };
  const near: AskNear<SiteCommand> = await startNear(link, NEAR_SIDE, setting, endings);
  const pings = await checkLinks(link, KINDS, report);
  const crossings = new Crossings(pings, report);
  for (const kind of KINDS) for (let run = 0; run < RUNS; run++) await loadAll(link, near, kind, crossings);
  return { settings: { loads: RUNS }, tables: await tablesOf(crossings) };
}

async function tablesOf(crossings: Crossings): Promise<Record<string, Table>> {
  const versions = SITES.map(async (site): Promise<[string, ...string[]]> => {
    const line = await runCommand('dpkg-query', ['--show', site.package]);
    return [site.address, site.page, site.package, line.trim().split('\t')[1] ?? ''];
  });
  const bySite = SITES.flatMap((site) => {
    const ways = Object.fromEntries(WAYS.map(({ name }) => [name, `${site.package} ${name}`]));
    return [
      [`${site.address}, s`, crossings.table(ways, 'seconds')],
      [`${site.address}, KiB`, crossings.table(ways, 'bytes', 1024)],
    ];
  });
  return {
    sites: table(['page', 'Debian package', 'version'], await Promise.all(versions)),
    ...Object.fromEntries(bySite),
    '3G, % of HTTP': shares(crossings),
  };
}

function shares(crossings: Crossings): Table {
  const [plain = '', gzip = '', , warm = '', , tls = '', tlsGzip = ''] = WAYS.map(({ name }) => name);
  const rows = SITES.map((site): [string, ...number[]] => {
    const of = (way: string) => crossings.median(G3, `${site.package} ${way}`, 'bytes');
    const more = (way: string, than: string) => 100 * (of(way) / of(than) - 1);
    return [site.address, -more(warm, plain), -more(gzip, plain), more(tls, plain), more(tlsGzip, gzip)];
  });
  const columns = ['saved by a warm cache', 'saved by compression', 'HTTPS, more', 'both compressed, HTTPS more'];
  return table(columns, rows);
}

/** Loads each site by each way: a cache is warm for the way after the one that it was cold for. */
async function loadAll(
  link: NarrowLink,
  near: AskNear<SiteCommand>,
  kind: LinkKind,
  crossings: Crossings,
): Promise<void> {
  for (const site of SITES) {
    for (const [way, { name }] of WAYS.entries()) {
      await near({ do: 'prepare', way });
      const load = { path: site.at + site.page, headline: site.headline };
      const crossing = await measureCrossing(link, kind, () => near({ do: 'load', ...load }));
      crossings.add(kind, `${site.package} ${name}`, crossing);
    }
  }
}
