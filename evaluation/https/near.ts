/** The near side: loads pages over connections as a browser opens them, six to a host and kept open; each resource when the one that asked for it is there. Prints its loads as JSON. */
import { Agent, get, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { FAR } from '../link/narrow-link.ts';
import { type Connection, fillTo, LONGEST_HEAD, type Load, type LoadSetting, PORTS } from './load.ts';
import { type Page, type Resource, readRecordings } from './recordings.ts';

/** A connection, from its handshakes to the end of the page. */
interface Open {
  readonly begun: number;
  established: number;
  used: number;
  readonly closed: () => Connection;
}

type Opened = Map<Duplex, Open>;

const { way, pages: order, root }: LoadSetting = JSON.parse(process.argv[2] ?? '');
const to = { protocol: way === 'HTTP' ? 'http:' : 'https:', port: PORTS[way], maxHeaderSize: LONGEST_HEAD };
const { pages } = readRecordings();
const loads: Load[] = [];
for (const place of order) loads.push(await load(place));
process.stdout.write(JSON.stringify(loads));

async function load(place: number): Promise<Load> {
  const opened: Opened = new Map();
  const agent = agentOf(opened);
  const [begun, before, page] = [performance.now(), process.cpuUsage(), pages[place]];
  if (page) await follow(page, 0, agent, opened);
  const [milliseconds, { user, system }] = [performance.now() - begun, process.cpuUsage(before)];
  const connections = Array.from(opened.values(), ({ closed }) => closed());
  agent.destroy();
  return { page: place, milliseconds, processor: (user + system) / 1000, connections };
}

function agentOf(opened: Opened): Agent {
  const options = { keepAlive: true, maxSockets: 6, maxCachedSessions: 1000, ca: root };
  // Certificates with all hosts of a page would be longer than theirs.
  const agent =
    way === 'HTTP' ? new Agent(options) : new TlsAgent({ ...options, checkServerIdentity: () => undefined });
  const secure = agent.createConnection.bind(agent);
  agent.createConnection = (given, callback) => {
    const raw = connect({ host: FAR, port: PORTS[way], noDelay: true });
    const socket = way === 'HTTP' ? raw : secure({ ...given, socket: raw } as typeof given, callback);
    if (!socket) throw new Error('no connection');
    const closed = () => {
      const bytes = raw.bytesRead + raw.bytesWritten;
      const own = socket instanceof TLSSocket ? bytes - socket.bytesRead - socket.bytesWritten : 0;
      return { shaken: open.established - open.begun, used: open.used, bytes, own };
    };
    const open: Open = { begun: performance.now(), established: 0, used: 0, closed };
    socket.once(way === 'HTTP' ? 'connect' : 'secureConnect', () => {
      open.established = performance.now();
    });
    opened.set(socket, open);
    return socket;
  };
  return agent;
}

async function follow(page: Page, place: number, agent: Agent, opened: Opened): Promise<void> {
  const resource = page.resources[place];
  if (resource) await fetched(resource, page.hosts[resource[1]] ?? '', agent, opened);
  const next = page.resources.flatMap(([parent], index) => (parent === place ? [index] : []));
  await Promise.all(next.map((each) => follow(page, each, agent, opened)));
}

/** @throws Error where the answer is not the resource */
async function fetched([, , , asked, head, body]: Resource, host: string, agent: Agent, opened: Opened): Promise<void> {
  const request = get({ ...to, agent, host, path: `/${head}/${body}`, headers: fillTo(asked) });
  let [given, length]: [number, number] = [Number.NaN, 0];
  let open: Open | undefined;
  request.on('socket', (socket) => {
    [given, open] = [performance.now(), opened.get(socket)];
  });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
  });
  for await (const chunk of response) length += chunk.length;
  if (response.statusCode !== 200 || length !== body) throw new Error(`${host}: ${response.statusCode}, ${length}`);
  if (open) open.used += performance.now() - Math.max(given, open.established);
}
