/** Figures 1 and 2 of Stubblefield, Rubin and Wallach (2002): a cluster whose load balancer is broken, or random, with and without redistribution. */
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../bench/measure.ts';
import { NODE, type Ready, runToReady } from '../../bench/processes.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import { freePort } from '../../cache-config/child.ts';
import { startCluster } from '../../tests/support/postgres-cluster.ts';
import { speed } from '../openssl-speed.ts';
import { IS_QUICK } from '../quick.ts';
import { shuffled } from '../readers/random.ts';
import { type Measurement, type Table, table } from '../results.ts';
import { type Costs, measureCosts } from './costs.ts';
import { flood } from './flood.ts';
import type { NodeOrigins, NodeSetting } from './node.ts';
import { addRate, BALANCERS, type Case, type ClusterWay, gains, nameOf, type Rates, rateOf, WAYS } from './rates.ts';
import { COST, makeReaders, type Reader } from './readers.ts';
import { openShares, type Shares } from './shares.ts';

const NODE_FILE = fileURLToPath(new URL('node.ts', import.meta.url));
const PYTHON = fileURLToPath(new URL('../../.cache/batch-rsa/bin/python3', import.meta.url));
const BATCH_RSA = fileURLToPath(new URL('batch-rsa.py', import.meta.url));
const SIZES = IS_QUICK ? [1, 2] : [1, 2, 4, 8];
const SHARE = 0.1;
const SECONDS = IS_QUICK ? 5 : 8;
const ROUNDS = IS_QUICK ? 2 : 3;
const READERS_PER_NODE = 4;
/** The single server to which others are compared. */
const ONE = { nodes: 1, balancer: 'broken', way: 'alone' } as const;
/** Number of cores; a node has a share of one of them. */
const CORES = 2;

export async function screamFigure(report: (text: string) => void): Promise<Measurement> {
  await using endings = new AsyncDisposableStack();
  const most = Math.max(...SIZES);
  const shares = openShares(most, endings);
  const folder = await temporaryFolder('evaluate-scream', endings);
  const costs = await measureCosts(folder);
  report(`single operations: ${JSON.stringify(costs)}`);
  const batches = await batchTable();
  report(`RSA: ${JSON.stringify(batches)}`);
  const postgres = await startCluster({ durable: false });
  endings.defer(() => postgres.close());
  const database = await postgres.createDatabase('scream');
  const readers = await makeReaders({ database, folder, number: 0, dispatcher: undefined }, READERS_PER_NODE * most);
  const rates: Rates = new Map();
  const clusters = SIZES.flatMap((nodes) => WAYS.map((way) => ({ nodes, way })));
  for (let round = 0; round < ROUNDS; round++)
    for (const cluster of shuffled(clusters, Math.random))
      await measure({ ...cluster, database, folder, readers, shares, report }, rates);
  return {
    settings: {
      ...{ rounds: ROUNDS, seconds: SECONDS, share: SHARE, readersPerNode: READERS_PER_NODE },
      ...{ hashMemory: COST.memory, hashPasses: COST.passes },
    },
    tables: {
      'sign-ins': signInTable(rates),
      'no work': table(['a second'], [['sign-in pages, 1 key server', rateOf(rates, { ...ONE, kind: 'page' })]]),
      operations: operationTable(costs, rates),
      batches,
    },
  };
}

/** The gain of a random balancer is above the noise where the least of all rounds is above 1. */
function signInTable(rates: Rates): Table {
  const kind = 'sign-in';
  const columns = BALANCERS.flatMap((balancer) => WAYS.map((way) => ({ balancer, way })));
  const rows = SIZES.map((nodes): [string, ...number[]] => {
    const gained = gains(rates, { nodes, kind, balancer: 'random' });
    const medians = columns.map(({ balancer, way }) => rateOf(rates, { nodes, kind, balancer, way }));
    return [String(nodes), ...medians, Math.min(...gained), Math.max(...gained)];
  });
  const names = columns.map(({ balancer, way }) => `${balancer}, ${way}`);
  return table([...names, 'random, least gain', 'random, most gain'], rows);
}

/** Milliseconds of processor time. */
function operationTable({ argon2id, encapsulation, decapsulation, exchange, tls }: Costs, rates: Rates): Table {
  const bindings = rateOf(rates, { ...ONE, kind: 'binding' });
  return table(
    ['ms'],
    [
      ['Argon2id', argon2id],
      ['X-Wing, seal', encapsulation],
      ['X-Wing, open', decapsulation],
      ['binding', (1000 * SHARE) / bindings],
      ['dispatcher, message and answer', exchange],
      ['ECDSA P-256, signature', tls.ecdsa.signature],
      ['ECDSA P-256, TLS 1.3 handshake', tls.ecdsa.handshake],
      ['RSA-2048, signature', tls.rsa.signature],
      ['RSA-2048, TLS 1.3 handshake', tls.rsa.handshake],
    ],
  );
}

/** RSA-2048: decryptions in batches beside single ones, and beside OpenSSL. */
async function batchTable(): Promise<Table> {
  const bySize: Record<'1' | '2' | '4' | '8', number> = JSON.parse(await runCommand(PYTHON, [BATCH_RSA]));
  const [signatures = Number.NaN] = await speed(['rsa2048']);
  const openssl = 1000 / signatures;
  const rows = Object.entries({ ...bySize, 'openssl speed': openssl });
  return table(
    ['ms for each', 'faster than alone', 'faster than OpenSSL'],
    rows.map(([name, each]) => [name, each, bySize['1'] / each, openssl / each]),
  );
}

interface Run {
  readonly nodes: number;
  readonly way: ClusterWay;
  readonly database: string;
  readonly folder: string;
  readonly readers: readonly Reader[];
  readonly shares: Shares;
  readonly report: (text: string) => void;
}

/** Starts a cluster while nothing bounds it, and measures it with bounds. */
async function measure({ nodes, way, database, folder, readers, shares, report }: Run, rates: Rates): Promise<void> {
  const started: Ready[] = [];
  try {
    const port = await freePort();
    for (let number = 0; number < nodes; number++) {
      const as = number === 0 ? { listen: { host: '127.0.0.1', port } } : { connect: `127.0.0.1:${port}` };
      const dispatcher = way === 'redistributed' ? as : undefined;
      started.push(await startNode({ database, folder, number, dispatcher }, shares.add()));
    }
    const origins: NodeOrigins[] = started.map(({ line }) => JSON.parse(line));
    shares.bound(SHARE);
    const cases: Case[] = BALANCERS.map((balancer) => ({ kind: 'sign-in', balancer, nodes, way }));
    if (nodes === ONE.nodes && way === ONE.way) cases.push({ ...ONE, kind: 'page' }, { ...ONE, kind: 'binding' });
    for (const what of cases) {
      const { kind, balancer } = what;
      const pick = () => origins[balancer === 'broken' ? 0 : Math.floor(Math.random() * nodes)] as NodeOrigins;
      const some = readers.slice(0, READERS_PER_NODE * nodes);
      const found = await flood({ kind, readers: some, pick, seconds: SECONDS });
      addRate(rates, what, found);
      report(`${nameOf(what)}: ${found.rate.toFixed(2)} a second, ${found.refused} refused`);
    }
  } finally {
    await Promise.all(started.map(({ stop }) => stop()));
    await shares.clear();
  }
}

function startNode(setting: NodeSetting, group: string): Promise<Ready> {
  const command = 'echo $$ > "$0/cgroup.procs" && exec taskset -c "$1" "$2" "$3" "$4"';
  const core = String(setting.number % CORES);
  return runToReady(['sh', '-c', command, group, core, NODE, NODE_FILE, JSON.stringify(setting)]);
}
