/** The HTTPCrypt endpoint beside plain HTTP by Node.js, and HTTPS by it and by nginx: answers of one length, with and without keep-alive. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeSelfSigned } from '../../tests/support/certificates.ts';
import { measureLoads, measureTree, type TreeFigures } from '../load.ts';
import { compare, type Row } from '../measure.ts';
import { startNginx } from '../nginx.ts';
import { temporaryFolder } from '../workspace.ts';

const SERVER = fileURLToPath(new URL('../httpcrypt-server.ts', import.meta.url));
const RUNS = 3;
const SECONDS = 2;
/** More than are shown in one run. */
const TICKETS = 40_000;

interface Contestant {
  readonly name: string;
  readonly run: (keepAlive: boolean) => Promise<TreeFigures>;
}

/** @param length - of the answers */
export async function httpcryptRows(name: string, length: number): Promise<Row[]> {
  await using endings = new AsyncDisposableStack();
  const folder = await temporaryFolder('bench-httpcrypt', endings);
  await makeSelfSigned(folder, 'localhost');
  const contestants = await startContestants(folder, length, endings);
  return [
    ...(await measure(`${name}, no keep-alive`, contestants, false)),
    ...(await measure(`${name}, keep-alive`, contestants, true)),
  ];
}

async function measure(row: string, contestants: readonly Contestant[], keepAlive: boolean): Promise<Row[]> {
  const names = contestants.map((contestant) => contestant.name);
  const loads = contestants.map(({ name, run }) => ({ name, run: () => run(keepAlive) }));
  const medians = await measureLoads(loads, RUNS);
  const rates = medians.map(({ requestsPerSecond }) => requestsPerSecond);
  const times = medians.map(({ processorTime }) => processorTime);
  const latencies = medians.map(({ latency }) => latency);
  const about = { runs: RUNS, bound: 'one core: HTTP, then the exchange' };
  const [first = 0, tickets = 0, ...peers] = rates;
  const others = names.slice(2);
  return [
    ...compare({ ...about, row, unit: 'requests/s' }, ['', ...others], [first, ...peers]),
    ...compare({ ...about, row: `${row}, tickets`, unit: 'requests/s' }, ['', ...others], [tickets, ...peers]),
    ...compare({ ...about, row: `${row}, latency`, unit: 'ms' }, names, latencies),
    ...compare({ ...about, row: `${row}, processor`, unit: 'µs' }, names, times),
  ];
}

async function startContestants(folder: string, length: number, endings: AsyncDisposableStack): Promise<Contestant[]> {
  const start = async (kind: string) => {
    const child = fork(SERVER, ['--kind', kind, '--length', String(length), '--folder', folder]);
    endings.defer(() => child.disconnect());
    return { child, ...((await reply(child)) as { port: number }) };
  };
  const [endpoint, plain] = [await start('httpcrypt'), await start('plain')];
  const [https, resuming] = [await start('https'), await start('https-resuming')];
  const nginx = await startNginx(folder, length);
  endings.defer(nginx.stop);
  const get = (pid: number, url: string) => (keepAlive: boolean) =>
    measureTree(pid, url, SECONDS, keepAlive ? [] : ['-H', 'Connection: close']);
  const node =
    (server: { child: ChildProcess }, run: Contestant['run'], mayResume = false): Contestant['run'] =>
    async (keepAlive) => {
      const load = await run(keepAlive);
      const resumes = mayResume && !keepAlive;
      const { failed, resumed } = (await ask(server.child, 'seen')) as { failed: number; resumed: number };
      if (failed > 0 || resumed > 0 !== resumes)
        throw new Error(`${failed} failed, ${resumed} connections were resumed`);
      return load;
    };
  const posting = (order: 'first' | 'tickets') => async (keepAlive: boolean) => {
    const file = join(folder, order);
    const { length: each } = (await ask(endpoint.child, { [order]: file, count: TICKETS, keepAlive })) as {
      length: number;
    };
    writeFileSync(`${file}.lua`, scriptFor(file, each));
    return measureTree(pidOf(endpoint), `http://127.0.0.1:${endpoint.port}`, SECONDS, ['-s', `${file}.lua`]);
  };
  return [
    { name: 'HTTPCrypt', run: node(endpoint, posting('first')) },
    { name: 'HTTPCrypt, tickets', run: node(endpoint, posting('tickets')) },
    { name: 'plain HTTP, Node.js', run: node(plain, get(pidOf(plain), `http://127.0.0.1:${plain.port}/`)) },
    { name: 'HTTPS, Node.js', run: node(https, get(pidOf(https), `https://127.0.0.1:${https.port}/`)) },
    {
      name: 'HTTPS resumed, Node.js',
      run: node(resuming, get(pidOf(resuming), `https://127.0.0.1:${resuming.port}/`), true),
    },
    { name: 'HTTPS, nginx', run: get(nginx.pid, `https://127.0.0.1:${nginx.port}/answer`) },
  ];
}

/** Sends the requests of a file one after the other, from the beginning again where there are no more. */
function scriptFor(file: string, length: number): string {
  return `local file = io.open("${file}", "rb")
function request()
  local text = file:read(${length})
  if not text then file:seek("set") text = file:read(${length}) end
  return text
end
`;
}

function pidOf({ child }: { child: ChildProcess }): number {
  return child.pid ?? -1;
}

function ask(child: ChildProcess, message: object | string): Promise<unknown> {
  const answer = reply(child);
  child.send(message);
  return answer;
}

async function reply(child: ChildProcess): Promise<unknown> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const ended = once(child, 'exit', { signal }).then(() => Promise.reject(new Error('the server has ended')));
  ended.catch(() => undefined);
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), ended]);
    return message;
  } finally {
    waiting.abort();
  }
}
