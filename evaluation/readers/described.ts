/** The figure as tables and plots. */
import { capital, type Figure, section, table } from '../document.ts';
import { bars } from '../plot.ts';
import { type Counts, READERS, ROOM_READERS, ROOMS, type Series, type SiteResults } from './setting.ts';
import { EXPONENT, PAGES_A_VISIT, SEED } from './visits.ts';

export function described(results: readonly SiteResults[]): Figure {
  return {
    runs: `One run each; a visit is of ${PAGES_A_VISIT} pages, by Zipf's law with exponent ${EXPONENT}, seed ${SEED}.`,
    sections: results.flatMap(ofSite),
    plots: Object.assign({}, ...results.map(plotsOf)),
  };
}

function ofSite({ site, digest, http, https, protected: ours }: SiteResults): string[] {
  const [httpAll, oursAll] = [http.at(-1) ?? [], ours.at(-1) ?? []];
  const rows = READERS.map((readers, index) => {
    const all = [httpAll, https, oursAll].map((series) => series[index] as Counts);
    const cells = all.flatMap((counts) => [count(counts.originRequests), megabytes(counts.originBytes)]);
    const [h, , p] = all as [Counts, Counts, Counts];
    return [count(readers), ...cells, percent(h), percent(p)];
  });
  const header = ['readers', ...['HTTP', 'HTTPS', 'protected'].flatMap((name) => [`${name}, requests`, 'MB'])];
  const rooms = ROOMS.map((room, index) => {
    const last = [http, ours].map((series) => inRoom(series, index));
    return [
      `${Math.round(room * 100)} % (${megabytes(room * site.bytes)} MB)`,
      ...last.flatMap((counts) => [hits(counts), percent(counts)]),
    ];
  });
  const name = capital(site.name);
  const about = `${site.pages.length} pages, ${megabytes(site.bytes)} MB, sequence \`${digest}\``;
  return [
    section(
      `${name} (${about}): what reaches the origin, and the share of bytes that does not`,
      table([...header, 'saved, HTTP', 'saved, protected'], rows),
      `readers-${site.short}`,
    ),
    section(
      `${name}: ${count(ROOM_READERS)} readers, by the cache's size as a part of the site`,
      table(['cache', 'HTTP, hits', 'bytes saved', 'protected, hits', 'bytes saved'], rooms),
      `readers-${site.short}-rooms`,
    ),
  ];
}

function plotsOf({ site, http, https, protected: ours }: SiteResults): Record<string, string> {
  const sent = (series: Series) => series.map(({ originBytes }) => originBytes / 1e6);
  const saved = (all: readonly Series[]) => ROOMS.map((_, room) => Math.max(0, share(inRoom(all, room))) * 100);
  return {
    [`readers-${site.short}`]: bars({
      title: `MB from the origin, by readers: ${site.name}`,
      unit: 'MB',
      groups: READERS.map(count),
      series: [
        { name: 'HTTP', values: sent(http.at(-1) ?? []) },
        { name: 'HTTPS', values: sent(https) },
        { name: 'protected', values: sent(ours.at(-1) ?? []) },
      ],
      logarithmic: true,
    }),
    [`readers-${site.short}-rooms`]: bars({
      title: `Bytes not from the origin, by the cache's size: ${site.name}`,
      unit: '%',
      groups: ROOMS.map((room) => `${Math.round(room * 100)} %`),
      series: [
        { name: 'HTTP', values: saved(http) },
        { name: 'protected', values: saved(ours) },
      ],
    }),
  };
}

/** After {@link ROOM_READERS}. */
function inRoom(all: readonly Series[], room: number): Counts {
  const series = all[room] ?? [];
  return (series.length > 1 ? series[READERS.indexOf(ROOM_READERS)] : series[0]) as Counts;
}

/** Of bytes that the origin does not send. */
function share({ received, originBytes }: Counts): number {
  return 1 - originBytes / received;
}

function percent(counts: Counts): string {
  return `${(Math.max(0, share(counts)) * 100).toFixed(1)} %`;
}

function hits({ asked, originRequests }: Counts): string {
  return `${((1 - originRequests / asked) * 100).toFixed(1)} %`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toPrecision(3);
}

function count(value: number): string {
  return value.toLocaleString('en');
}
