/** Share of what many readers ask for that reaches the origin, by HTTP, by HTTPS and by this system. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../bench/workspace.ts';
import { stopAll } from '../../cache-config/child.ts';
import { makeChain } from '../../tests/support/certificates.ts';
import { type Measurement, type Table, table } from '../results.ts';
import { checkAgainstReader } from './check.ts';
import { openConnection } from './connection.ts';
import type { Origin } from './origin.ts';
import { type Requests, requestsForProtected, requestsInClear } from './requests.ts';
import { type Counts, READERS, type Series, type SiteResults } from './setting.ts';
import { openSite, type ReadSite, SITES } from './sites.ts';
import { digestOf, EXPONENT, PAGES_A_VISIT, SEED, visitsOf } from './visits.ts';

const AT_ONCE = 6;
/** Factor for the protected site, so that the cache holds everything, although Squid counts in pages of 4 KiB. */
const ROOM = 2;

export async function readersFigure(report: (text: string) => void): Promise<Measurement> {
  await using endings = new AsyncDisposableStack();
  const directory = await temporaryFolder('evaluate-readers', endings);
  endings.defer(stopAll);
  const chain = await makeChain(directory, 'origin', 'ecdsa', ['DNS:localhost']);
  const authority = await readFile(chain.rootFile);
  const results: SiteResults[] = [];
  for (const source of SITES) {
    report(`publishes ${source.name}`);
    const site = await openSite(source, join(directory, source.short), chain, endings);
    results.push(await measureSite(site, authority, report));
  }
  const settings = { pagesAVisit: PAGES_A_VISIT, exponent: EXPONENT, seed: SEED };
  return {
    settings: Object.assign(settings, ...results.map(settingsOf)),
    tables: Object.assign({}, ...results.map(tablesOf)),
  };
}

function settingsOf({ site, digest }: SiteResults): Record<string, number | string> {
  const { short, pages, bytes } = site;
  return { [`${short} pages`]: pages.length, [`${short} MB`]: bytes / 1e6, [`${short} sequence`]: digest };
}

function tablesOf({ site, http, https, protected: ours }: SiteResults): Record<string, Table> {
  const origin = READERS.map((readers, index): [string, ...number[]] => {
    const counts = [http, https, ours].map((series) => series[index] as Counts) as [Counts, Counts, Counts];
    const sent = counts.map(({ originBytes }) => originBytes / 1e6);
    return [String(readers), ...sent, counts[2].keyServerBytes / 1e6, saved(counts[0]), saved(counts[2])];
  });
  const megabytes = ['HTTP, MB', 'HTTPS, MB', 'protected, MB', 'key server, MB'];
  return { [site.short]: table([...megabytes, 'HTTP, % saved', 'protected, % saved'], origin) };
}

/** Per cent of the readers' bytes that neither origin nor key server sends. */
function saved({ received, originBytes, keyServerBytes }: Counts): number {
  return Math.max(0, 1 - (originBytes + keyServerBytes) / (received + keyServerBytes)) * 100;
}

async function measureSite(site: ReadSite, authority: Buffer, report: (text: string) => void): Promise<SiteResults> {
  const { name, clear, rootId, out, bytes } = site;
  const visits = visitsOf(site.pages, READERS.at(-1) ?? 0);
  report(`${name}: records the requests`);
  const inClear = visits.map(requestsInClear);
  const forProtected: Requests[] = [];
  for (const visit of visits) forProtected.push(await requestsForProtected(visit, out, rootId));
  const ofReader = await checkAgainstReader(site, visits[0] ?? [], forProtected[0] ?? []);
  const reported = (what: string, series: Series) => {
    const { received, originBytes } = series.at(-1) as Counts;
    report(`${name}, ${what}: ${received} bytes, ${originBytes} from the origin`);
    return series;
  };
  const https = reported('HTTPS', await measure(clear, clear.httpsUrl, inClear, READERS, authority));
  const { received, originBytes } = https.at(-1) as Counts;
  const perReader = ofReader + (originBytes - received) / visits.length; // a handshake, as with the origin
  report(`${name}: ${ofReader} bytes from the key server for a reader, ${Math.round(perReader)} with TLS`);
  const behindSquid = async (what: string, origin: Origin, requests: readonly Requests[], ofKeyServer: number) => {
    await origin.emptyCache((ROOM * bytes) / 1024);
    const series = await measure(origin, origin.squid.url, requests, READERS);
    const withKeys = series.map((counts, index) => ({
      ...counts,
      keyServerBytes: ofKeyServer * (READERS[index] ?? 0),
    }));
    return reported(what, withKeys);
  };
  return {
    site,
    digest: digestOf(visits),
    https,
    http: await behindSquid('HTTP', clear, inClear, 0),
    protected: await behindSquid('protected', site.protected, forProtected, perReader),
  };
}

/** Readers come in their order, a few at the same time. @param steps - after how many of them it is counted */
async function measure(
  origin: Origin,
  url: string,
  readers: readonly Requests[],
  steps: readonly number[],
  authority?: Buffer,
): Promise<Series> {
  origin.takeSent();
  let total: Counts = { received: 0, originBytes: 0, keyServerBytes: 0 };
  const series: Counts[] = [];
  for (const [index, end] of steps.entries()) {
    const received = total.received + (await replay(url, readers.slice(steps[index - 1] ?? 0, end), authority));
    total = { ...total, received, originBytes: total.originBytes + origin.takeSent() };
    series.push(total);
  }
  return series;
}

/** @returns bytes that came */
async function replay(url: string, readers: readonly Requests[], authority?: Buffer): Promise<number> {
  const waiting = readers.values();
  let received = 0;
  const readOn = async () => {
    for (const requests of waiting) {
      const connection = openConnection(url, authority);
      for (const path of requests) {
        const status = await connection.get(path);
        // A look for a newer root ends with one that is not there.
        if (status !== 200 && !(status === 404 && path.endsWith('.root.json')))
          throw new Error(`${path} was answered ${status}`);
      }
      received += connection.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readOn));
  return received;
}
