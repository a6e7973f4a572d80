/** Figure 6: recorded pages of public sites by HTTP and HTTPS: time, bytes, connections and handshakes; after Naylor et al. (2014). */
import { fileURLToPath } from 'node:url';
import { median, percentile, runCommand } from '../../bench/measure.ts';
import { NODE } from '../../bench/processes.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import { DSL, G3, LOOPBACK } from '../link/kinds.ts';
import { type LinkKind, startLink } from '../link/narrow-link.ts';
import { checkLinks } from '../link/ping.ts';
import { IS_QUICK } from '../quick.ts';
import { shuffled } from '../readers/random.ts';
import { type Measurement, type Table, table } from '../results.ts';
import { startFar } from './far.ts';
import type { Load, LoadSetting, Way } from './load.ts';
import { bytesOf, readRecordings } from './recordings.ts';
import { sharesOf } from './shares.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
const WAYS: readonly Way[] = ['HTTP', 'TLS 1.2', 'TLS 1.3'];
/** Loads of all pages by each way: 3G takes five times as long. */
const RUNS = new Map([
  [DSL, IS_QUICK ? 1 : 2],
  [G3, 1],
]);
const LARGEST_PAGE = 4 << 20;
const PERCENTS = [5, 10, 25, 50, 60, 75, 90, 95];

/** Loads of all pages by one way, over one link: with bytes on the link, and milliseconds in which a packet was being sent. */
interface Round {
  readonly kind: LinkKind;
  readonly way: Way;
  readonly loads: readonly Load[];
  readonly bytes: number;
  readonly busy: number;
}

export async function httpsFigure(report: (text: string) => void): Promise<Measurement> {
  await using endings = new AsyncDisposableStack();
  const link = await startLink(endings);
  const roots = await startFar(await temporaryFolder('evaluate-https', endings), endings);
  const recordings = readRecordings();
  const fitting = Array.from(recordings.pages.entries(), ([place, page]) => ({ place, ...page })).filter((page) => {
    return bytesOf(page.resources) <= LARGEST_PAGE && !(IS_QUICK && page.place % 8);
  });
  await checkLinks(link, [...RUNS.keys()], report);
  const kinds = Array.from(RUNS).flatMap(([kind, runs]) => Array.from({ length: runs }, () => kind));
  const rounds: Round[] = [];
  for (const { kind, way } of shuffled(
    kinds.flatMap((kind) => WAYS.map((way) => ({ kind, way }))),
    Math.random,
  )) {
    const pages = shuffled(
      fitting.map(({ place }) => place),
      Math.random,
    );
    const setting: LoadSetting = { way, pages, root: roots[way] };
    await link.become(kind);
    const [bytes, busy] = [await link.carried(), await link.busy()];
    const loads: Load[] = JSON.parse(await runCommand(...link.near(NODE, [NEAR_SIDE, JSON.stringify(setting)])));
    rounds.push({ kind, way, loads, bytes: (await link.carried()) - bytes, busy: (await link.busy()) - busy });
    await link.become(LOOPBACK);
    report(`${kind.name}, ${way}: ${Math.round(sum(loads, ({ milliseconds }) => milliseconds) / 1000)} s`);
  }
  const names = new Map(fitting.map(({ place, name }) => [place, name]));
  const tables = Array.from(RUNS.keys(), (kind) => tablesOf(kind, names, rounds));
  const runs = Array.from(RUNS, ([{ name }, loads]) => [`loads, ${name}`, loads]);
  const settings = { pages: names.size, ...Object.fromEntries(runs) };
  return { settings, tables: { ...Object.assign({}, ...tables), recorded: sharesOf(recordings) } };
}

/** Makes the tables of a link: a row for each page, the distributions, and all loads together. @param names - of the pages, by their places */
function tablesOf(kind: LinkKind, names: ReadonlyMap<number, string>, all: readonly Round[]): Record<string, Table> {
  const rounds = all.filter((round) => round.kind === kind);
  const loadsBy = (way: Way) => rounds.filter((round) => round.way === way).flatMap(({ loads }) => loads);
  /** Median of each page, by way. */
  const medians = (of: (load: Load) => number) =>
    WAYS.map((way) => {
      const loads = Map.groupBy(loadsBy(way), ({ page }) => page);
      return Array.from(names.keys(), (page) => median((loads.get(page) ?? []).map(of)));
    });
  const seconds = medians(({ milliseconds }) => milliseconds / 1000);
  const bytes = medians(({ connections }) => sum(connections, (each) => each.bytes));
  const connections = medians((load) => load.connections.length);
  const handshakes = medians((load) => sum(load.connections, ({ shaken }) => shaken) / 1000);
  const besideHttp = (ways: number[][], beside: (figure: number, http: number) => number) =>
    ways.map((figures) => figures.map((figure, page) => beside(figure, ways[0]?.[page] ?? Number.NaN)));
  const ratio = (figure: number, http: number) => figure / http;
  const own = WAYS.map((way) => {
    return loadsBy(way).flatMap((load) => load.connections.map((each) => (100 * each.own) / each.bytes));
  });
  const rows = Array.from(names.values(), (name, place): [string, ...(number | undefined)[]] => {
    return [name, ...[seconds, bytes, connections, handshakes].flat().map((figures) => figures[place])];
  });
  const columns = ['s', 'bytes', 'connections', 'handshakes, s'].flatMap((what) =>
    WAYS.map((way) => `${way}, ${what}`),
  );
  const tables = {
    pages: table(columns, rows),
    'times HTTP': quantiles(besideHttp(seconds, ratio)),
    's more': quantiles(besideHttp(seconds, (figure, http) => figure - http)),
    'bytes, times HTTP': quantiles(besideHttp(bytes, ratio)),
    connections: quantiles(connections),
    'handshakes, s': quantiles(handshakes),
    'TLS, % of a connection': quantiles(own),
    together: together(rounds),
  };
  return Object.fromEntries(Object.entries(tables).map(([name, each]) => [`${kind.name}, ${name}`, each]));
}

/** @param figures - of each way, in any order */
function quantiles(figures: readonly (readonly number[])[]): Table {
  const rows = PERCENTS.map(
    (percent) => [`${percent} %`, ...figures.map((some) => percentile(percent, some))] as const,
  );
  return table(WAYS, rows);
}

/** Sums all pages, loaded once, by way. */
function together(all: readonly Round[]): Table {
  const ways = WAYS.map((way) => {
    const rounds = all.filter((round) => round.way === way);
    const loads = rounds.flatMap((round) => round.loads);
    const connections = loads.flatMap((load) => load.connections);
    const [shaken, used] = [sum(connections, (each) => each.shaken), sum(connections, (each) => each.used)];
    return {
      'load, s': sum(loads, ({ milliseconds }) => milliseconds) / 1000 / rounds.length,
      'link busy, s': sum(rounds, ({ busy }) => busy) / 1000 / rounds.length,
      'processor, s': sum(loads, ({ processor }) => processor) / 1000 / rounds.length,
      MiB: sum(rounds, ({ bytes }) => bytes) / (1 << 20) / rounds.length,
      connections: connections.length / rounds.length,
      'handshakes, % of time': (100 * shaken) / (shaken + used),
      'TLS, % of bytes': (100 * sum(connections, ({ own }) => own)) / sum(connections, ({ bytes }) => bytes),
    };
  });
  const names = Object.keys(ways[0] ?? {}) as (keyof (typeof ways)[number])[];
  return table(
    WAYS,
    names.map((name) => [name, ...ways.map((way) => way[name])]),
  );
}

function sum<Each>(list: readonly Each[], of: (each: Each) => number): number {
  return list.reduce((total, each) => total + of(each), 0);
}
