/**
 * What a TLS connection costs a key server, as the paper measures its two levels of sessions: with a ticket of its own, with one of another key
 * server, without one, and with one that no key opens; beside nginx.
 */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { makeSelfSigned } from '../../tests/support/certificates.ts';
import { startCluster } from '../../tests/support/postgres-cluster.ts';
import { startServer } from '../key-clients.ts';
import { compare, median, type Row } from '../measure.ts';
import { startNginx } from '../nginx.ts';
import { processorTime } from '../proc.ts';

const RUNS = 11;
const CONNECTIONS = 400;
const AT_A_TIME = 8;

/** What is connected to. */
interface Server {
  readonly port: number;
  readonly pid: number;
  readonly ca: Buffer;
}

interface Contestant {
  readonly name: string;
  readonly server: Server;
  /** What the client shows. */
  readonly session?: Buffer;
  readonly resumes: boolean;
}

export async function tlsTickets(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'wispr-bench-tickets-'));
  await using endings = new AsyncDisposableStack();
  endings.defer(() => rm(folder, { recursive: true }));
  return await measure(await startContestants(folder, endings));
}

async function startContestants(folder: string, endings: AsyncDisposableStack): Promise<Contestant[]> {
  const [shared, apart] = [join(folder, 'shared'), join(folder, 'apart')];
  for (const each of [shared, apart]) {
    await mkdir(each);
    await makeSelfSigned(each, 'localhost');
  }
  const start = async (own: string, database: string): Promise<Server> => {
    const { facts, stop } = await startServer([database, own]);
    endings.defer(stop);
    return { ...facts, ca: await readFile(join(own, 'cert.pem')) };
  };
  const cluster = await startCluster({ durable: true });
  endings.defer(cluster.close);
  const database = await cluster.createDatabase('bench');
  const [here, there] = [await start(shared, database), await start(shared, database)];
  const stranger = await start(apart, 'sqlite');
  const started = await startNginx({ folder: shared, length: 1, tickets: 'on' });
  endings.defer(started.stop);
  const nginx = { port: started.https, pid: started.pid, ca: here.ca };
  return [
    { name: 'own ticket', server: here, session: await sessionOf(here), resumes: true },
    { name: "another's ticket", server: here, session: await sessionOf(there), resumes: true },
    { name: 'no ticket', server: here, resumes: false },
    { name: 'ticket that no key opens', server: here, session: await sessionOf(stranger), resumes: false },
    { name: 'nginx, ticket', server: nginx, session: await sessionOf(nginx), resumes: true },
    { name: 'nginx, no ticket', server: nginx, resumes: false },
  ];
}

async function measure(contestants: readonly Contestant[]): Promise<Row[]> {
  const figures = contestants.map(() => ({ rates: [] as number[], times: [] as number[] }));
  for (let run = 0; run < RUNS; run++)
    for (const [index, contestant] of contestants.entries()) {
      const { rate, time } = await load(contestant);
      figures[index]?.rates.push(rate);
      figures[index]?.times.push(time);
    }
  const names = contestants.map(({ name }) => name);
  const rowsOf = (what: 'rates' | 'times', unit: string, suffix: string) => {
    const values = new Map(figures.map((figure, index) => [names[index] ?? '', median(figure[what])]));
    const about = { unit, runs: RUNS, bound: 'one core: key agreement; without a ticket also a signature' };
    const of = (name: string) => values.get(name) ?? Number.NaN;
    const row = (name: string, ...peers: readonly string[]) =>
      compare({ ...about, row: `tls-tickets: ${name}${suffix}` }, ['', ...peers], [of(name), ...peers.map(of)]);
    return [
      ...row('own ticket', 'nginx, ticket'),
      ...row("another's ticket", 'own ticket'),
      ...row('no ticket', 'own ticket', 'nginx, no ticket'),
      ...row('ticket that no key opens', 'no ticket'),
    ];
  };
  return [...rowsOf('rates', 'connections/s', ''), ...rowsOf('times', 'µs', ', processor')];
}

/** Connections a second, and the server's processor time for each in microseconds. */
async function load({ name, server, session, resumes }: Contestant): Promise<{ rate: number; time: number }> {
  const [spent, begun] = [await processorTime(server.pid), performance.now()];
  let next = 0;
  const connectOn = async () => {
    while (next++ < CONNECTIONS) {
      const socket = await open(server, session);
      if (socket.isSessionReused() !== resumes) throw new Error(`${name}: resumed: ${!resumes}`);
      await close(socket);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, connectOn));
  const seconds = (performance.now() - begun) / 1000;
  return { rate: CONNECTIONS / seconds, time: (((await processorTime(server.pid)) - spent) * 1e6) / CONNECTIONS };
}

/** By X25519, which all of them have. */
function open({ port, ca }: Server, session?: Buffer): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const to = {
      host: '127.0.0.1',
      port,
      servername: 'localhost',
      ca,
      ecdhCurve: 'X25519',
      minVersion: 'TLSv1.3',
    } as const;
    const socket = connect({ ...to, ...(session && { session }) }, () => resolve(socket));
    socket.once('error', reject);
  });
}

function close(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve()).resume();
    socket.end();
  });
}

async function sessionOf(server: Server): Promise<Buffer> {
  const socket = await open(server);
  const session = await new Promise<Buffer>((resolve) => socket.once('session', resolve));
  await close(socket);
  return session;
}
