/** The near side: Chromium, the Reader, and a cache before both. Reads a command a line from standard input, and answers with one on standard output. */
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../../bench/chromium.ts';
import { runCommand } from '../../bench/measure.ts';
import { CDN, KEYS, PAGES, PLAIN, READ } from '../../bench/newspaper.ts';
import { runNginx } from '../../bench/nginx.ts';
import { NODE, type Ready, runToReady, WISPR } from '../../bench/processes.ts';
import { type CacheServer, startReverse } from '../../cache-config/servers.ts';
import { load } from '../link/load.ts';
import { FAR } from '../link/narrow-link.ts';
import { answerCommands } from '../link/near-process.ts';
import { HTTP2_PORT, type PageCommand, type PageSetting, PROTECTED_PORT, type ReadingWay, SITE } from './setting.ts';

/** Port of the cache that nginx ends TLS for. */
const CACHE_PORT = 7010;

const setting: PageSetting = JSON.parse(process.argv[2] ?? '');
const env = { ...process.env, NODE_EXTRA_CA_CERTS: setting.authority };
const signedIn = join(setting.directory, 'signed-in.json');
await startFront();
const browser = await startBrowser();
let cache: CacheServer | undefined;
let reader: Ready | undefined;
let readers = 0;
let context: BrowserContext | undefined;
let page: Page | undefined;
let means = '';
await emptyCache();
await bind();
await signIn();
await answerCommands(async (command: PageCommand) => {
  // A Reader fetches publication and keys when it starts: over the link that is measured.
  if (command.do === 'load' && page !== undefined) return load(page, await originOf(), command);
  if (command.do === 'prepare') await prepare(command.way);
  return undefined;
});
process.exit();

function startBrowser(): Promise<Browser> {
  const far = [PLAIN, KEYS, READ, PAGES].map((name) => `MAP ${name} ${FAR}`);
  return launchChromium([...far, `MAP ${CDN} 127.0.0.1`], setting.pin);
}

async function prepare(way: ReadingWay): Promise<void> {
  await page?.waitForLoadState('networkidle'); // pictures of style sheets, which a second reader finds in the cache then
  await context?.close();
  await reader?.stop();
  reader = undefined;
  const [by = '', who = ''] = way.split(', ');
  means = by;
  if (who === 'cold') await emptyCache();
  context = await browser.newContext(means === 'browser' ? { storageState: signedIn } : {});
  page = await context.newPage();
}

async function originOf(): Promise<string> {
  if (means === 'HTTP') return `http://${PLAIN}`;
  if (means === 'HTTPS') return `https://${PLAIN}`;
  if (means === 'HTTP/2') return `https://${PLAIN}:${HTTP2_PORT}`;
  if (means === 'browser') return `https://${PAGES}`;
  return startReader();
}

/** A Reader that is connected, and has read nothing. */
async function startReader(): Promise<string> {
  const folder = join(setting.directory, `reader-${++readers}`);
  await cp(join(setting.directory, 'reader'), folder, { recursive: true });
  const options = ['--port', '0', '--json', '--quiet', ...readerOptions(folder)];
  reader = await runToReady([NODE, WISPR, 'proxy', ...options], undefined, { env });
  const { sites } = JSON.parse(reader.line) as { sites: { site: string; gateway: string }[] };
  return new URL(sites.find(({ site }) => site === SITE)?.gateway ?? '').origin;
}

async function bind(): Promise<void> {
  const [link] = setting.links;
  const options = ['--trust-site', SITE, '--yes', ...readerOptions(join(setting.directory, 'reader'))];
  await runCommand(NODE, [WISPR, 'bind', link, ...options], undefined, env);
}

async function signIn(): Promise<void> {
  const first = await browser.newContext();
  const tab = await first.newPage();
  await tab.goto(setting.links[1]);
  await tab.click('text=Read in this browser');
  await tab.waitForURL((url) => url.hostname !== READ || !url.pathname.startsWith('/-/join'));
  await first.storageState({ path: signedIn });
  await first.close();
}

async function emptyCache(): Promise<void> {
  await cache?.stop();
  cache = await startReverse('squid-reverse', { port: CACHE_PORT, backend: { host: FAR, port: PROTECTED_PORT } });
  if (cache.port !== CACHE_PORT) throw new Error(`port ${CACHE_PORT} is taken`);
}

function readerOptions(folder: string): string[] {
  const to = [`${KEYS}:443:${FAR}:443`, `${READ}:443:${FAR}:443`, `${CDN}:443:127.0.0.1:443`];
  const allowed = ['127.0.0.1', FAR].flatMap((host) => ['--allow-local', host]);
  const places = ['--data', folder, '--key-file', join(folder, 'reader.key')];
  return [...places, ...to.flatMap((rule) => ['--connect-to', rule]), ...allowed];
}

async function startFront(): Promise<void> {
  const { directory, chain, key } = setting;
  const home = join(directory, 'front');
  await mkdir(home);
  await runNginx(
    home,
    `access_log off; server { listen 127.0.0.1:443 ssl http2; ssl_certificate ${chain}; ssl_certificate_key ${key}; ssl_protocols TLSv1.3;
  location / { proxy_http_version 1.1; proxy_set_header Host $host; proxy_pass http://127.0.0.1:${CACHE_PORT}; } }`,
  );
}
