/** Two or three key servers as processes, on one PostgreSQL, behind the HAProxy of docs/cluster.md. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect as connectTo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { Agent } from 'undici';
import { accepts, type Child, freePort, startChild } from '../../cache-config/child.ts';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { type Invitation, inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { type KeyServerState, openState } from '../../keyserver/storage/state.ts';
import { makeCertificate } from './certificates.ts';
import { type ContentHost, startContentHost } from './content-host.ts';
import { temporaryFolder } from './keyserver-rig.ts';
import { newPostgresUrl } from './postgres.ts';
import {
  createPublisher,
  type PublisherWithSets,
  publish,
  SITE,
  sealBundle,
  type TestDocument,
} from './publisher-with-sets.ts';
import { started } from './started.ts';
import { startWispr } from './wispr.ts';

const HOSTS = { keys: 'keys.news.example', read: 'read.news.example', pages: 'pages.news.example' } as const;
export const ORIGINS = {
  keyServer: `https://${HOSTS.keys}`,
  readingUrl: `https://${HOSTS.read}`,
  documentsUrl: `https://${HOSTS.pages}`,
} as const;

/** Ports that stand for those of docs/cluster.md. */
type Ports = Readonly<Record<'443' | '8443' | '8444' | '8445', number>>;

export interface Node {
  /** Returns what it has logged since its last start. */
  log(): string;
  /** Requests of readers that it has answered, as its log has them. */
  answered(): number;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Ways to its API and its documents without the balancer. */
  readonly direct: Readonly<Record<'keys' | 'pages', Way>>;
  /** Makes its database unreachable; `restore` ends that. */
  cut(): void;
  restore(): Promise<void>;
}

export interface Cluster {
  readonly publisher: PublisherWithSets;
  readonly nodes: readonly [Node, Node, ...Node[]];
  readonly balancer: Way;
  /** State of another key server on the same database, which does not listen. */
  readonly state: KeyServerState;
  invite(name: string): Promise<Invitation>;
  close(): Promise<void>;
}

export interface ClusterOptions {
  /** Documents published before the start of the key servers, which look for a newer publication only now and then. */
  readonly documents: readonly TestDocument[];
  /** Address of a PostgreSQL other than the run's. */
  readonly database?: string;
  /** A third key server, and the first one is the dispatcher of password hashing. */
  readonly third?: boolean;
}

export async function startCluster({ documents, database: own, third = false }: ClusterOptions): Promise<Cluster> {
  const folder = temporaryFolder();
  const [certificate, host, publisher, database] = await Promise.all([
    makeCertificate(
      folder,
      Object.values(HOSTS).map((name) => `DNS:${name}`),
    ),
    startContentHost(),
    createPublisher(),
    own ?? newPostgresUrl(),
  ]);
  const [balanced, keys, read, pages, hashing = 0] = await Promise.all(Array.from({ length: 5 }, freePort));
  const ports = { 443: balanced ?? 0, 8443: keys ?? 0, 8444: read ?? 0, 8445: pages ?? 0 };
  const config = configIn(folder, ports, host);
  const state = await openState({ ...config('127.0.0.1'), database });
  const origins = { keyServer: ORIGINS.keyServer, reading: ORIGINS.readingUrl };
  const bundle = await sealBundle(publisher, state.recipient.publicKey, { ...origins, content: host.origin });
  await importBundle(state, bundle, origins);
  if (documents.length > 0) await publish(publisher, host, ...documents);
  const start = (address: string, dispatcher?: KeyServerConfig['dispatcher']) =>
    startNode(folder, { ...config(address), ...(dispatcher && { dispatcher }) }, database, certificate.ca);
  const [first, others] = ['127.0.0.11', third ? ['127.0.0.12', '127.0.0.13'] : ['127.0.0.12']] as const;
  const [one, two, ...more] = await Promise.all([
    start(first, third ? { listen: { host: first, port: hashing } } : undefined),
    ...others.map((address) => start(address, third ? { connect: `${first}:${hashing}` } : undefined)),
  ]);
  if (!one || !two) throw new Error('there are no nodes');
  const nodes = [one, two, ...more] as const;
  const balancer = await startBalancer(ports, certificate.caFile, third);
  return {
    publisher,
    nodes,
    balancer: { host: '127.0.0.1', port: ports[443], ca: certificate.ca },
    state,
    invite: (name) => inviteSubscriber(state, { name }),
    close: async () => {
      await balancer.stop();
      for (const node of nodes) await node.close();
      await state.database.close();
      await host.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Returns the configuration that all key servers share; each listens at an address of its own. */
function configIn(folder: string, ports: Ports, content: ContentHost) {
  const tls = { certificate: join(folder, 'leaf.pem'), key: join(folder, 'leaf.key') };
  return (host: string) => ({
    origin: ORIGINS.keyServer,
    listen: { host, port: ports[8443] },
    tls,
    reading: {
      origin: ORIGINS.readingUrl,
      listen: { host, port: ports[8444] },
      tls,
      documents: { origin: ORIGINS.documentsUrl, listen: { host, port: ports[8445] }, tls },
    },
    masterKey: join(folder, 'master.key'),
    publicKey: join(folder, 'keyserver.pub'),
    fetchFrom: { [SITE]: content.origin },
  });
}

async function startNode(
  folder: string,
  config: ReturnType<ReturnType<typeof configIn>> & Pick<KeyServerConfig, 'dispatcher'>,
  database: string,
  ca: string,
): Promise<Node & { close(): Promise<void> }> {
  const { host } = config.listen;
  const own = join(folder, host);
  mkdirSync(own);
  const way = await wayToDatabase(own, database);
  writeFileSync(join(own, 'keyserver.json'), JSON.stringify({ ...config, database: way.url }));
  const start = () => startWispr(['keyserver', '-c', join(own, 'keyserver.json')]);
  let program = await start();
  return {
    log: () => program.stderr(),
    stop: async (signal) => void (await program.stop(signal)),
    start: async () => {
      program = await start();
    },
    answered: () => program.stderr().match(/"route":"(?!\/healthz).*"msg":"request"/g)?.length ?? 0,
    direct: { keys: { ...config.listen, ca }, pages: { ...config.reading.documents.listen, ca } },
    cut: way.cut,
    restore: way.restore,
    close: async () => {
      await program.stop();
      way.cut();
    },
  };
}

/** A socket of its own, so that one key server can lose the database and the others not. */
async function wayToDatabase(folder: string, database: string) {
  const FILE = '.s.PGSQL.5432';
  const [place = '', query] = database.split('?');
  const parameters = new URLSearchParams(query);
  const real = join(parameters.get('host') ?? '', FILE);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const there = connectTo(real);
    for (const [from, to] of [
      [socket, there],
      [there, socket],
    ] as const) {
      open.add(from);
      from.pipe(to).once('close', () => open.delete(to));
      from.on('error', () => to.destroy());
    }
  });
  const restore = async () => void (await once(server.listen(join(folder, FILE)), 'listening'));
  await restore();
  parameters.set('host', folder);
  return {
    url: `${place}?${parameters}`,
    restore,
    cut: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** The configuration as it stands there, but for addresses, ports and authority, and with one more server. */
async function startBalancer(ports: Ports, caFile: string, third: boolean): Promise<Child> {
  const page = readFileSync(new URL('../../docs/cluster.md', import.meta.url), 'utf8');
  const [, text = ''] = /^```haproxy\n(.*?)^```$/ms.exec(page) ?? [];
  const folder = temporaryFolder();
  const file = join(folder, 'haproxy.cfg');
  const thirdAfter = (line: string) => line.replaceAll('two', 'three').replace('10.0.0.12', '10.0.0.13');
  const servers = third ? text.replaceAll(/^ +server two .*\n/gm, (line) => line + thirdAfter(line)) : text;
  const here = servers
    .replaceAll(/(?<=:)\d+$|(?<=10\.0\.0\.\d+:)\d+/gm, (port) => String(ports[port as keyof Ports]))
    .replaceAll('10.0.0.', '127.0.0.')
    .replaceAll('@system-ca', caFile)
    .replaceAll('bind :', 'bind 127.0.0.1:');
  writeFileSync(file, here);
  const child = startChild(['haproxy', '-f', file], folder, { stopSignal: 'SIGTERM' });
  return started('HAProxy', child, () => accepts(ports[443]));
}

/** Address to which a connection is made, whatever host is asked for. */
export interface Way {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
}

/** A TLS connection to a host. @param options - a session to go on with, and the reader's address */
export function connectBy(
  way: Way,
  servername: string,
  options: { readonly session?: Buffer | undefined; readonly localAddress?: string | undefined } = {},
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...way, servername, ...options }, () => resolve(socket));
    socket.once('error', reject);
  });
}

/** A TLS session, as a ticket. */
export async function sessionBy(way: Way, servername: string): Promise<Buffer> {
  const socket = await connectBy(way, servername);
  const session = await new Promise<Buffer>((resolve) => socket.once('session', resolve));
  socket.destroy();
  return session;
}

/** A client with a connection for each request, so that the balancer takes another key server each time. It goes on with TLS sessions. */
export function newClient(way: Way, localAddress?: string) {
  const sessions = new Map<string, Buffer>();
  const seen = { connections: 0, resumed: 0 };
  const dispatcher = new Agent({
    pipelining: 0,
    connect: ({ hostname }, done) => {
      connectBy(way, hostname, { session: sessions.get(hostname), localAddress }).then(
        (socket) => {
          seen.connections++;
          if (socket.isSessionReused()) seen.resumed++;
          socket.on('session', (session) => sessions.set(hostname, session));
          done(null, socket);
        },
        (error: Error) => done(error, null),
      );
    },
  });
  return { dispatcher, seen };
}
