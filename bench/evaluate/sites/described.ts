/** The figure as text, tables and plots. */
import type { LinkKind } from '../../link/narrow-link.ts';
import { runCommand } from '../../measure.ts';
import { type Figure, ranOn, table } from '../document.ts';
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
  const named = SITES.map(
    (site, index) => `- ${site.name} (${site.address}), \`${site.page}\`: \`${site.package}\` ${versions[index]}`,
  );
  const text = `Naylor et al., *The Cost of the “S” in HTTPS* (2014), ask what is lost where no program in the path can
read: its caches and its compression. Here the same pages go over three links by HTTP, with a Squid
on the near side, with a program that compresses on the far side, and by HTTPS (TLS 1.3, chain of
two), as it is or compressed by the origin ("HTTPS, gzip"). The sites are public ones, as Debian packages have them whole:

${named.join('\n')}

${SITES.map((site) => ofSite(measured, site)).join('\n\n')}

{{plot sites-seconds}}

{{plot sites-bytes}}

**What a cache and compression save.** Share of the bytes on ${measured.kinds[1]?.name} that HTTP without either takes: not
sent again where a warm cache answers; saved by compression in the path, which HTTPS loses where the
origin does not compress; and what HTTPS takes beside HTTP.

${shares(measured)}

${recordedText(measured.recorded)}

${limits(measured)}`;
  return { text, plots: plots(measured) };
}

function ofSite({ kinds, pings, results }: Measured, site: Site): string {
  const cells = (form: (kind: LinkKind, name: string) => string) =>
    kinds.map((kind) => [
      kind.name,
      `${Math.round(pings.get(kind) ?? Number.NaN)} ms`,
      ...WAYS.map(({ name }) => form(kind, `${site.package} ${name}`)),
    ]);
  const header = ['link', 'ping', ...WAYS.map(({ name }) => name)];
  return `**${site.name}.** Seconds until the page is there with all that it loads, then KiB on the link, both ways,
headers of IP and TCP included.

${table(
  header,
  cells((kind, name) => results.seconds(kind, name).toPrecision(3)),
)}

${table(
  header,
  cells((kind, name) => (results.bytes(kind, name) / 1024).toFixed(1)),
)}`;
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
  const header = ['site', 'warm cache', 'compression', 'HTTPS beside HTTP, more', 'both compressed, more'];
  return table(header, rows);
}

function recordedText(recorded: readonly Recorded[]): string {
  const heading = '**Recorded pages.**';
  const from = [...new Set(RECORDINGS.map(({ repository }) => repository))].join(', ');
  if (recorded.length === 0)
    return `${heading} Left out in this run: clone ${from}, and name their folder in \`WISPR_RECORDED\`.`;
  const rows = [...recorded, together(recorded)].map((page) => [
    page.name,
    page.on,
    page.requests.toLocaleString('en'),
    Math.round(page.bytes / 1024).toLocaleString('en'),
    ...[page.https, page.cacheable, page.served, page.loose].map((part) => percent(part / page.bytes)),
  ]);
  const commits = [...new Map(RECORDINGS.map(({ repository, commit }) => [repository, commit]))];
  return `${heading} Front pages of public sites, which others have recorded with their headers (HTTP Archive). They are
in public repositories, for the tests of tools: ${commits.map(([repository, commit]) => `\`${repository}\` at \`${commit.slice(0, 10)}\``).join(', ')}.
"For a shared cache": what RFC 9111 lets one give to others without asking, answers with cookies
left out. "And by HTTP": that part which a cache in the path could have had then. What has gone over
to HTTPS since is lost to it. "Text as it is": not compressed. The paper's cache served 14.9 % of
requests and 15.6 % of bytes.

${table(
  ['page', 'recorded on', 'requests', 'KiB', 'by HTTPS', 'for a shared cache', 'and by HTTP', 'text as it is'],
  rows,
)}`;
}

function together(recorded: readonly Recorded[]): Omit<Recorded, keyof Recording> & { readonly name: string } {
  const sum = (of: (page: Recorded) => number) => recorded.reduce((total, page) => total + of(page), 0);
  return {
    ...{ name: 'together', on: '', requests: sum(({ requests }) => requests), bytes: sum(({ bytes }) => bytes) },
    ...{ https: sum(({ https }) => https), cacheable: sum(({ cacheable }) => cacheable) },
    ...{ served: sum(({ served }) => served), loose: sum(({ loose }) => loose) },
  };
}

function limits({ runs }: Measured): string {
  return `${runs === 1 ? 'One load each' : `Medians of ${runs} loads`}, while other programs were running: seconds below one say little. Squid has its
defaults: where a site says nothing of how long an answer is good, it guesses from the time of the
last change. What this does not show: pages that differ from reader to reader, whose answers no cache
may keep, and advertising; sites of many hosts, each with a handshake of its own. Documentation has
neither. The recorded pages have both, but they are from 2015 to 2022, and a page loaded once says
nothing of how often others ask for the same. Images that a program in the path makes smaller are
not looked at.
${ranOn()}`;
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
