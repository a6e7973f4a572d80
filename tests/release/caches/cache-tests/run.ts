/**
 * Runs the HTTP caching tests (https://cache-tests.fyi/) against their own server, straight or through the proxy that is named, and prints
 * the results as JSON. A process of its own, because the tests keep their state in their modules.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, fetch, ProxyAgent } from 'undici';
import { listenOnLoopback } from '../../../support/content-host.ts';

const PACKAGE = new URL('../../../../.cache/http-cache-tests/package/', import.meta.url);

type Handler = (segments: string[], request: IncomingMessage, response: ServerResponse) => void;
const load = async (path: string) => import(new URL(path, PACKAGE).href);

async function startServer(): Promise<string> {
  const handlers: Record<string, Handler> = {};
  for (const name of ['config', 'test', 'state'])
    handlers[name] = ((await load(`server/handle-${name}.mjs`)) as { default: Handler }).default;
  // Kept for longer than the tests pause: a connection that closes just as it is used again would be a difference of its own.
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const [, kind = '', ...segments] = new URL(request.url ?? '/', 'http://localhost').pathname.split('/');
    const handler = handlers[kind];
    if (handler) handler(segments, request, response);
    else response.writeHead(404).end();
  });
  return `http://127.0.0.1:${await listenOnLoopback(server)}`;
}

const [proxy] = process.argv.slice(2);
const dispatcher = proxy === undefined ? new Agent() : new ProxyAgent({ uri: proxy, proxyTunnel: false });
const suites = [
  ...((await load('tests/index.mjs')) as { default: unknown[] }).default,
  ((await load('tests/surrogate-control.mjs')) as { default: unknown }).default,
];
const { runTests, getResults } = await load('client/runner.mjs');
const through = (url: string, init: object) => fetch(url, { ...init, dispatcher });
const { log } = console;
console.log = () => undefined; // the tests' own server says much
await runTests(suites, through, false, await startServer());
log(JSON.stringify(getResults()));
process.exit(0);
