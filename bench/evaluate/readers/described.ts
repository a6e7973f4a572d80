/** The figure as text, tables and plots. */
import { capital, type Figure, ranOn, table } from '../document.ts';
import { bars } from '../plot.ts';
import { type Counts, READERS, ROOM_READERS, ROOMS, type Series, type SiteResults } from './setting.ts';
import { EXPONENT, PAGES_A_VISIT, SEED } from './visits.ts';

const GOAL = 95;

export function described(results: readonly SiteResults[]): Figure {
  const text = `Each reader opens ${PAGES_A_VISIT} pages, drawn by Zipf's law with exponent ${EXPONENT} from all pages of the site, in an
order of popularity that the seed ${SEED} chose, and loads their pictures, style sheets and scripts. A
reader's own cache holds all of the visit: a file is asked for once. Readers come one after the
other, six at the same time, to an nginx that is the origin, with a Squid before it (\`wispr
cache-config squid-reverse\`, in memory). *HTTP*: the site in clear by way of that Squid, its text
compressed, and nothing ever expires. *HTTPS*: the same from the origin, TLS 1.3, a connection and a
handshake for each reader, since nothing in between can keep anything. *Protected*: this system, and
all readers are new ones. Their requests for metadata and objects were recorded from the Reader's
own client of publications, once when it is connected and once when it reads, and compared, for the
first visit, with those of a real Reader, which sent the same ones. Root and timestamp come from the
key server, as do keys, and count nowhere here. Bytes are those that the origin sends, heads
included.

${results.map(siteText).join('\n\n')}

${conclusion(results)}

The site's bytes are those of the protected site, and caches are parts of them; Squid takes whole
pages of 4 KiB, and keeps what was used last. What this does not show: readers who come back, and
have most of it; a new publication; other sites in the same cache; films, which no page loads by
itself; time, since 1,000 readers came within minutes (the timestamp, which expires after a minute,
is asked of the content host only where the key server is silent).
${ranOn()} One run of each.`;
  return { text, plots: Object.assign({}, ...results.map(plotsOf)) };
}

function siteText({ site, digest, http, https, protected: ours }: SiteResults): string {
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
  return `**${capital(site.name)}**: ${site.pages.length} pages, ${megabytes(site.bytes)} MB (sequence \`${digest}\`).
What reaches the origin where the cache has room for everything; and the share of the readers' bytes
that does not.

${table([...header, 'saved, HTTP', 'saved, protected'], rows)}

{{plot readers-${site.short}}}

${count(ROOM_READERS)} readers, by the cache's size as a part of the site: share of requests that the cache answers,
and of bytes that do not come from the origin.

${table(['cache', 'HTTP, hits', 'bytes', 'protected, hits', 'bytes'], rooms)}

{{plot readers-${site.short}-rooms}}`;
}

function conclusion(results: readonly SiteResults[]): string {
  const readers = READERS.at(-1) ?? 0;
  const said = results.map(({ site, https, protected: ours }) => {
    const [counts, all] = [ours.at(-1)?.at(-1) as Counts, https.at(-1) as Counts];
    const less = share({ ...counts, received: all.originBytes });
    return `- ${site.name}: ${percent(counts)}; and the origin sends ${(less * 100).toFixed(1)} % less than by HTTPS`;
  });
  const reached = results.every(({ protected: ours }) => share(ours.at(-1)?.at(-1) as Counts) >= GOAL / 100);
  return `The goal, that ${GOAL} % of a popular site's bytes never reach the origin at ${count(readers)} readers, is ${reached ? 'reached' : 'missed'}:

${said.join('\n')}

Of the requests that do, most are each new reader's two looks for the next root: Squid does not keep
a 404. Protected readers ask for more bytes in all: metadata, two files for a public document, and
public documents are not compressed.`;
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
