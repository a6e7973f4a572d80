/** Figures 1 and 2 of Stubblefield, Rubin and Wallach (2002): a cluster whose load balancer is broken, or random, with and without redistribution. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processorTime } from '../../bench/proc.ts';
import { NODE, type Ready, runToReady } from '../../bench/processes.ts';
import { freePort } from '../../cache-config/child.ts';
import { startCluster } from '../../tests/support/postgres-cluster.ts';
import type { Figure } from '../document.ts';
import { IS_QUICK } from '../quick.ts';
import { measureBatching } from './batching.ts';
import { measureCosts } from './costs.ts';
import { described } from './described.ts';
import { flood } from './flood.ts';
import type { NodeOrigins, NodeSetting } from './node.ts';
import { KINDS, makeReaders, type Reader } from './readers.ts';
import { BALANCERS, Rates, WAYS, type Way } from './results.ts';
import { Shares } from './shares.ts';

const NODE_FILE = fileURLToPath(new URL('node.ts', import.meta.url));
const SIZES = IS_QUICK ? [1, 2] : [1, 2, 4, 8];
const SHARE = 0.1;
const SECONDS = IS_QUICK ? 5 : 10;
const READERS_PER_NODE = 4;
/** Each node has a core, of which it has a share: so many cores there are. */
const CORES = 2;

export async function screamFigure(say: (text: string) => void): Promise<Figure> {
  const endings: (() => Promise<unknown>)[] = [];
  try {
    const most = Math.max(...SIZES);
    const shares = new Shares(most);
    endings.push(() => shares.close());
    const folder = await mkdtemp(join(tmpdir(), 'wispr-evaluate-scream-'));
    endings.push(() => rm(folder, { recursive: true, force: true }));
    const costs = await measureCosts(folder);
    say(`single operations: ${JSON.stringify(costs)}`);
    const batching = await measureBatching();
    say(`RSA: ${JSON.stringify(batching)}`);
    const postgres = await startCluster({ durable: false });
    endings.push(() => postgres.close());
    const database = await postgres.createDatabase('scream');
    const readers = await makeReaders({ database, folder, number: 0, dispatcher: undefined }, READERS_PER_NODE * most);
    const rates = new Rates(say);
    for (const nodes of SIZES)
      for (const way of WAYS) await measure({ nodes, way, database, folder, readers, shares }, rates);
    const about = { sizes: SIZES, share: SHARE, seconds: SECONDS, readersPerNode: READERS_PER_NODE };
    return described({ ...about, rates, costs, batching });
  } finally {
    for (const end of endings.toReversed()) await end();
  }
}

interface Run {
  readonly nodes: number;
  readonly way: Way;
  readonly database: string;
  readonly folder: string;
  readonly readers: readonly Reader[];
  readonly shares: Shares;
}

/** Starts a cluster while nothing bounds it, and measures it with bounds. */
async function measure({ nodes, way, database, folder, readers, shares }: Run, rates: Rates): Promise<void> {
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
    for (const kind of KINDS) {
      for (const balancer of BALANCERS) {
        const pick = () => origins[balancer === 'broken' ? 0 : Math.floor(Math.random() * nodes)] as NodeOrigins;
        const some = readers.slice(0, READERS_PER_NODE * nodes);
        const before = await spent(started);
        const begun = performance.now();
        const found = await flood({ kind, readers: some, pick, seconds: SECONDS });
        const cores = ((await spent(started)) - before) / ((performance.now() - begun) / 1000);
        rates.add({ nodes, way, kind, balancer }, { ...found, cores });
      }
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

/** Seconds of processor time of all together. */
async function spent(started: readonly Ready[]): Promise<number> {
  const each = await Promise.all(started.map(({ pid }) => processorTime(pid)));
  return each.reduce((sum, seconds) => sum + seconds, 0);
}
