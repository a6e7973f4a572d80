/** The HTTPCrypt endpoint beside plain HTTP by Node.js, and HTTPS by it and by nginx: answers of one length, with and without keep-alive. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureTree, type TreeFigures } from '../../bench/load.ts';
import { startNginx } from '../../bench/nginx.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import { makeSelfSigned } from '../../tests/support/certificates.ts';

const SERVER = fileURLToPath(new URL('server.ts', import.meta.url));
const SECONDS = 2;
/** Tickets, more than are shown in one run. */
const TICKETS = 40_000;

interface Contestant {
  readonly name: string;
  /** @param args - further ones for wrk */
  readonly run: (keepAlive: boolean, ...args: string[]) => Promise<HttpcryptFigures>;
}

export interface HttpcryptFigures extends TreeFigures {
  /** Share of requests on connections that resumed a session, as the server saw it. */
  readonly resumed: number;
}

interface Seen {
  readonly requests: number;
  readonly failed?: number;
  readonly resumed: number;
}

/** Starts the servers; the first two contestants are HTTPCrypt. @param length - of the answers */
export async function startContestants(length: number, endings: AsyncDisposableStack): Promise<Contestant[]> {
  const folder = await temporaryFolder('evaluate-httpcrypt', endings);
  await makeSelfSigned(folder, 'localhost');
  const start = async (kind: string) => {
    const child = fork(SERVER, ['--kind', kind, '--length', String(length), '--folder', folder]);
    endings.defer(() => child.disconnect());
    const { port } = (await reply(child)) as { port: number };
    return { pid: child.pid ?? -1, port, child, seen: async () => (await ask(child, 'seen')) as Seen };
  };
  const [endpoint, plain] = [await start('httpcrypt'), await start('plain')];
  const [https, resuming] = [await start('https'), await start('https-resuming')];
  const nginx = await startNginx(folder, length);
  endings.defer(nginx.stop);
  const posting =
    (order: 'first' | 'tickets'): Contestant['run'] =>
    async (keepAlive, ...args) => {
      const file = join(folder, order);
      const { length: each } = (await ask(endpoint.child, { [order]: file, count: TICKETS, keepAlive })) as {
        length: number;
      };
      writeFileSync(`${file}.lua`, scriptFor(file, each));
      return measured(endpoint, `http://127.0.0.1:${endpoint.port}`, [...args, '-s', `${file}.lua`]);
    };
  const getting =
    (server: Measurable, scheme: string, port: number, mayResume = false): Contestant['run'] =>
    (keepAlive, ...args) => {
      const url = `${scheme}://127.0.0.1:${port}/answer`;
      const close = keepAlive ? [] : ['-H', 'Connection: close'];
      return measured(server, url, [...args, ...close], mayResume && !keepAlive);
    };
  return [
    { name: 'HTTPCrypt', run: posting('first') },
    { name: 'HTTPCrypt, tickets', run: posting('tickets') },
    { name: 'plain HTTP, Node.js', run: getting(plain, 'http', plain.port) },
    { name: 'HTTPS, Node.js', run: getting(https, 'https', https.port) },
    { name: 'HTTPS resumed, Node.js', run: getting(resuming, 'https', resuming.port, true) },
    { name: 'plain HTTP, nginx', run: getting(nginx, 'http', nginx.plain) },
    { name: 'HTTPS, nginx', run: getting(nginx, 'https', nginx.full) },
    { name: 'HTTPS resumed, nginx', run: getting(nginx, 'https', nginx.resuming, true) },
  ];
}

interface Measurable {
  readonly pid: number;
  /** Counts since the last call. */
  readonly seen: () => Promise<Seen>;
}

/** @throws Error where the server saw a failure, or sessions were resumed that should not be, or the other way round */
async function measured(server: Measurable, url: string, args: string[], mayResume = false): Promise<HttpcryptFigures> {
  const load = await measureTree(server.pid, url, SECONDS, args);
  const { requests, failed = 0, resumed } = await server.seen();
  if (failed > 0 || resumed > 0 !== mayResume || !(requests > 0))
    throw new Error(`${url}: of ${requests} requests ${failed} failed, ${resumed} came on resumed connections`);
  return { ...load, resumed: resumed / requests };
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
