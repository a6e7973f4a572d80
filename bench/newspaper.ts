/** The newspaper as docs/deploy.md has it, each part a process of its own: nginx ends TLS, with HTTP/2, for the key server, a content host, and the same in clear. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { freePort } from '../cache-config/child.ts';
import { startNginx } from '../cache-config/servers.ts';
import { initWorkspace } from '../publisher/init.ts';
import { publishFromWorkspace } from '../publisher/publish/publish.ts';
import { locateTargets } from '../publisher/publish/targets.ts';
import { chooseSite } from '../serve/site.ts';
import { makeChain } from '../tests/support/certificates.ts';
import { runCommand } from './measure.ts';
import { runNginx } from './nginx.ts';
import { NODE, runToReady, WISPR } from './processes.ts';
import { temporaryFolder } from './workspace.ts';

export const KEYS = 'keys.news.example';
export const READ = 'read.news.example';
export const PAGES = 'pages.news.example';
/** Content host. */
export const CDN = 'cdn.news.example';
/** Host that has the same pages in clear. */
export const PLAIN = 'plain.news.example';

const PASSPHRASE = 'bench bench bench';

export interface Newspaper {
  /** Ports of TLS, by names: the key server's three share a certificate and connections. */
  readonly ports: Readonly<Record<string, number>>;
  /** SHA-256 of the certificates' public key in base64, for Chromium. */
  readonly pin: string;
  readonly invite: (name: string) => Promise<string>;
  readonly requests: () => Promise<number>;
}

/** @param documents - further settings of `reading.documents` of `keyserver.json` */
export async function startNewspaper(documents: object, endings: AsyncDisposableStack): Promise<Newspaper> {
  const directory = await temporaryFolder('bench-newspaper', endings);
  const wispr = (...args: string[]) => runCommand(NODE, [WISPR, ...args], directory);
  const [host, keys, read, pages] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const { workspace, settings } = await initNewspaper(directory, PASSPHRASE);
  const { site, source = '' } = settings;
  const more = { fetchFrom: { [site]: `http://127.0.0.1:${host}` }, limits: { devices: 1000 } };
  await startKeyServer(directory, { keys, read, pages }, { ...more, documents }, endings);
  await mkdir(join(directory, 'protected'));
  const nginx = await startNginx({ port: host, root: join(directory, 'protected'), readingOrigin: `https://${READ}` });
  endings.defer(() => nginx.stop());
  await publish(workspace.configuration, (await wispr('admin', 'token')).trim(), keys);
  const passed = { [KEYS]: keys, [READ]: read, [PAGES]: pages, [CDN]: nginx.port };
  const front = await startFront(directory, source, passed, endings);
  return { ...front, invite: async (name) => JSON.parse(await wispr('invite', name, '--json')).link };
}

/** Makes the publisher's workspace. @param source - in place of the example's */
export async function initNewspaper(directory: string, passphrase: string, source?: string) {
  const example = await chooseSite();
  const places = { content: `https://${CDN}`, keyServer: `https://${KEYS}`, reading: `https://${READ}` };
  const settings = { ...example, ...places, out: 'protected', ...(source !== undefined && { source }) };
  return initWorkspace({ directory, url: `https://${example.site}`, passphrase, settings });
}

/** Starts a key server behind a proxy. @param more - members of `keyserver.json`, and `reading.documents` */
export async function startKeyServer(
  directory: string,
  ports: Readonly<Record<'keys' | 'read' | 'pages', number>>,
  { documents, ...more }: { readonly documents?: object; readonly fetchFrom: object; readonly limits?: object },
  endings: AsyncDisposableStack,
): Promise<void> {
  const at = (port: number) => ({ host: '127.0.0.1', port });
  const reading = {
    ...{ origin: `https://${READ}`, listen: at(ports.read) },
    documents: { origin: `https://${PAGES}`, listen: at(ports.pages), ...documents },
  };
  const configuration = {
    ...{ origin: `https://${KEYS}`, listen: at(ports.keys), trustedProxies: ['127.0.0.1'], reading },
    ...{ data: 'keyserver.db', masterKey: 'master.key', publicKey: 'keyserver.pub' },
    ...more,
  };
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'keyserver.json'), JSON.stringify(configuration));
  const { stop } = await runToReady([NODE, WISPR, 'keyserver', '--json'], directory);
  endings.defer(stop);
}

/** The publisher finds the key server on this machine under its name. */
async function publish(configurationFile: string, token: string, port: number): Promise<void> {
  const way = getGlobalDispatcher();
  const toKeyServer = way.compose((dispatch) => (options, handler) => {
    const headers = { ...(options.headers as object), host: KEYS };
    return dispatch({ ...options, origin: `http://127.0.0.1:${port}`, headers }, handler);
  });
  setGlobalDispatcher(toKeyServer);
  try {
    const places = { ...(await locateTargets({ configurationFile })), token };
    await publishFromWorkspace({ places, passphrase: PASSPHRASE, protect: {} });
  } finally {
    setGlobalDispatcher(way);
  }
}

/** Lines of nginx that pass all on to a server on this machine. */
export function passedTo(port: number): string {
  return `location / { proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto https; }`;
}

/** @param passed - ports of what is behind, by names */
async function startFront(
  directory: string,
  source: string,
  passed: Readonly<Record<string, number>>,
  endings: AsyncDisposableStack,
): Promise<Pick<Newspaper, 'pin' | 'ports' | 'requests'>> {
  const names = [...Object.keys(passed), PLAIN];
  const { certFile, keyFile, pin } = await makeChain(
    directory,
    'front',
    'ecdsa',
    names.map((name) => `DNS:${name}`),
  );
  const [own, cdn] = [await freePort(), await freePort()];
  const ports = Object.fromEntries(names.map((name) => [name, name === CDN || name === PLAIN ? cdn : own]));
  const server = (name: string, rest: string) =>
    `server { listen 127.0.0.1:${ports[name]} ssl http2; server_name ${name}; ${rest} }`;
  const servers = Object.entries(passed).map(([name, port]) => server(name, passedTo(port)));
  const home = join(directory, 'front');
  await mkdir(home);
  const log = join(directory, 'requests');
  const child = await runNginx(
    home,
    `include /etc/nginx/mime.types; log_format line '$msec $host $status $request_uri'; access_log ${log} line; sendfile on; tcp_nopush on;
  ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; ssl_protocols TLSv1.3;
  ${servers.join('\n  ')}
  ${server(PLAIN, `root ${source}; index index.html; gzip on; gzip_min_length 256; gzip_types text/css text/javascript application/javascript image/svg+xml;`)}`,
  );
  endings.defer(() => child.stop());
  return { ports, pin, requests: async () => (await readFile(log, 'utf8')).split('\n').length - 1 };
}
