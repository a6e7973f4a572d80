/** The figure as tables and plots. */

import { runCommand } from '../../bench/measure.ts';
import { type Figure, section, table } from '../document.ts';
import type { LinkKind } from '../link/narrow-link.ts';
import type { Results } from '../link-results.ts';
import { bars } from '../plot.ts';
import { RECORDINGS, type Recorded, type Recording } from './recorded.ts';
import { SITES, type Site, WAYS } from './setting.ts';

export interface Measured {
  readonly kinds: readonly LinkKind[];
  /** Milliseconds. */
  readonly pings: ReadonlyMap<LinkKind, number>;
  readonly results: Results;
  readonly runs: number;
  readonly recorded: readonly Recorded[];
}

const [PLAIN = '', GZIP = '', , WARM = '', BOTH = '', TLS = '', TLS_GZIP = ''] = WAYS.map(({ name }) => name);

export async function described(measured: Measured): Promise<Figure> {
  const versions = await Promise.all(SITES.map(versionOf));
  const { kinds, recorded, runs } = measured;
  const named = SITES.map(({ address, page, package: name }, index) => [
    address,
    `\`${page}\``,
    `\`${name}\``,
    versions[index] ?? '',
  ]);
  return {
    runs: runs === 1 ? 'One load each.' : `Medians of ${runs} loads.`,
    sections: [
      section('Sites', table(['site', 'page', 'Debian package', 'version'], named), 'sites-seconds', 'sites-bytes'),
      ...SITES.flatMap((site) => ofSite(measured, site)),
      section(`Bytes on ${kinds[1]?.name}, as a share of those by HTTP`, shares(measured)),
      ...(recorded.length > 0 ? recordedPages(recorded) : []),
    ],
    plots: plots(measured),
  };
}

function ofSite({ kinds, pings, results }: Measured, site: Site): string[] {
  const cells = (form: (kind: LinkKind, name: string) => string) =>
    kinds.map((kind) => [
      kind.name,
      `${Math.round(pings.get(kind) ?? Number.NaN)} ms`,
      ...WAYS.map(({ name }) => form(kind, `${site.package} ${name}`)),
    ]);
  const header = ['link', 'ping', ...WAYS.map(({ name }) => name)];
  const seconds = cells((kind, name) => results.seconds(kind, name).toPrecision(3));
  const kibibytes = cells((kind, name) => (results.bytes(kind, name) / 1024).toFixed(1));
  return [
    section(`${site.name}: seconds until the page is there with all that it loads`, table(header, seconds)),
    section(`${site.name}: KiB on the link, both ways, headers of IP and TCP included`, table(header, kibibytes)),
  ];
}

function shares({ kinds, results }: Measured): string {
  const kind = kinds[1];
  if (!kind) throw new Error('nothing was measured');
  const rows = SITES.map((site) => {
    const of = (way: string) => results.bytes(kind, `${site.package} ${way}`);
    const saved = (way: string) => percent(1 - of(way) / of(PLAIN));
    const more = (way: string, than: string) => percent(of(way) / of(than) - 1);
    return [site.name, saved(WARM), saved(GZIP), more(TLS, PLAIN), more(TLS_GZIP, GZIP)];
  });
  const header = ['site', 'saved by a warm cache', 'by compression', 'HTTPS, more', 'both compressed, HTTPS more'];
  return table(header, rows);
}

function recordedPages(recorded: readonly Recorded[]): string[] {
  const rows = [...recorded, together(recorded)].map((page) => [
    page.name,
    page.on,
    page.requests.toLocaleString('en'),
    Math.round(page.bytes / 1024).toLocaleString('en'),
    ...[page.https, page.cacheable, page.served, page.loose].map((part) => percent(part / page.bytes)),
  ]);
  const header = ['page', 'recorded on', 'requests', 'KiB', 'HTTPS', 'for a shared cache', 'and HTTP', 'text as it is'];
  const commits = [...new Map(RECORDINGS.map(({ repository, commit }) => [repository, commit]))];
  return [
    section('Recorded pages: shares of their bytes', table(header, rows)),
    section('Where they were recorded', table(['repository', 'commit'], commits)),
  ];
}

function together(recorded: readonly Recorded[]): Omit<Recorded, keyof Recording> & { readonly name: string } {
  const sum = (of: (page: Recorded) => number) => recorded.reduce((total, page) => total + of(page), 0);
  return {
    ...{ name: 'together', on: '', requests: sum(({ requests }) => requests), bytes: sum(({ bytes }) => bytes) },
    ...{ https: sum(({ https }) => https), cacheable: sum(({ cacheable }) => cacheable) },
    ...{ served: sum(({ served }) => served), loose: sum(({ loose }) => loose) },
  };
}

/** On one link. */
function plots({ kinds, results }: Measured): Record<string, string> {
  const [, kind] = kinds;
  if (!kind) throw new Error('nothing was measured');
  const shown = WAYS.filter(({ name }) => name !== BOTH);
  const series = (of: 'seconds' | 'bytes', scale: number) =>
    shown.map(({ name }) => ({
      name,
      values: SITES.map((site) => results[of](kind, `${site.package} ${name}`) / scale),
    }));
  const groups = SITES.map(({ address, page }) => `${address}, ${page}`);
  return {
    'sites-seconds': bars({
      groups,
      title: `Seconds to a page, ${kind.name}`,
      unit: 's',
      series: series('seconds', 1),
    }),
    'sites-bytes': bars({ groups, title: `KiB on the link, ${kind.name}`, unit: 'KiB', series: series('bytes', 1024) }),
  };
}

function versionOf({ package: name }: Site): Promise<string> {
  return runCommand('dpkg-query', ['--show', name]).then((line) => line.trim().split('\t')[1] ?? '');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}
