/** Protected objects from nginx, Varnish and Squid, beside plain files of exactly their length from the same server. */
import type { CacheServer } from '../../cache-config/servers.ts';
import { type Pair, withCaches } from '../caches.ts';
import { type Figures, measureTree } from '../load.ts';
import { median, type Row, round } from '../measure.ts';

const LENGTHS = { '1k': 1024, '64k': 65_536, '10m': 10 * 1024 * 1024 };
const RUNS = Number(process.env.WISPR_BENCH_RUNS ?? 12);
const secondsFor = ({ length }: Pair) => (length > 1_048_576 ? 4 : 1);
const BOUND = 'the server and its client, a core each: the same bytes by the same calls';

export function cacheParity(): Promise<Row[]> {
  return withCaches('cache-parity', LENGTHS, async (servers, pairs) => {
    const rows: Row[] = [];
    for (const server of servers) for (const pair of pairs) rows.push(...(await besidePlain(server, pair)));
    return rows;
  });
}

/**
 * The two take turns, and so does who begins. The ratio is the median of those of neighbours, not that of the medians: what else the machine does
 * changes within seconds, and falls on both of a pair.
 */
async function besidePlain(server: CacheServer, pair: Pair): Promise<Row[]> {
  const { name, object, plain } = pair;
  const seconds = secondsFor(pair);
  const measure = (path: string) => measureTree(server.pid, server.url + path, seconds);
  await measure(object); // fills a cache with both
  await measure(plain);
  const pairs: { object: Figures; plain: Figures }[] = [];
  for (let run = 0; run < RUNS; run++) {
    const first = await measure(run % 2 === 0 ? object : plain);
    const second = await measure(run % 2 === 0 ? plain : object);
    pairs.push(run % 2 === 0 ? { object: first, plain: second } : { object: second, plain: first });
  }
  const row = `cache-parity: ${server.name}, ${name}`;
  return (['requestsPerSecond', 'processorTime'] as const).map((of) => ({
    row,
    value: round(median(pairs.map((both) => both.object[of]))),
    unit: of === 'requestsPerSecond' ? 'requests/s' : 'µs of CPU',
    peer: 'plain file of its length',
    peerValue: round(median(pairs.map((both) => both.plain[of]))),
    ratio: round(median(pairs.map((both) => both.object[of] / both.plain[of]))),
    runs: RUNS,
    bound: BOUND,
  }));
}
