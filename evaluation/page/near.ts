/** The near side: Chromium, the Reader, and a cache before both. Reads a command a line from standard input, and answers with one on standard output. */
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../../bench/chromium.ts';
import { runCommand } from '../../bench/measure.ts';
import { runNginx } from '../../bench/nginx.ts';
import { NODE, type Ready, runToReady, WISPR } from '../../bench/processes.ts';
import { type CacheServer, startReverse } from '../../cache-config/servers.ts';
import { FAR } from '../link/narrow-link.ts';
import { answerCommands } from '../link/near-process.ts';
import {
  CDN,
  HTTP2_PORT,
  KEYS,
  PAGES,
  type PageCommand,
  type PageSetting,
  PLAIN,
  PROTECTED_PORT,
  READ,
  type ReadingWay,
  SITE,
} from './setting.ts';

/** Where the cache listens that nginx ends TLS for. */
const CACHE_PORT = 7010;
const SLOWEST_LOAD = 3_600_000;

class NearSide {
  readonly #setting: PageSetting;
  readonly #browser: Browser;
  #cache: CacheServer | undefined;
  #reader: Ready | undefined;
  #readers = 0;
  #context: BrowserContext | undefined;
  #origin = '';
  #page: Page | undefined;

  private constructor(setting: PageSetting, browser: Browser) {
    this.#setting = setting;
    this.#browser = browser;
  }

  static async start(setting: PageSetting): Promise<NearSide> {
    await startFront(setting);
    const far = [PLAIN, KEYS, READ, PAGES].map((name) => `MAP ${name} ${FAR}`);
    const browser = await launchChromium([...far, `MAP ${CDN} 127.0.0.1`], setting.pin);
    const near = new NearSide(setting, browser);
    await near.#emptyCache();
    await near.#bind();
    await near.#signIn();
    return near;
  }

  async prepare(way: ReadingWay): Promise<void> {
    await this.#page?.waitForLoadState('networkidle'); // pictures of style sheets, which a second reader finds in the cache then
    await this.#context?.close();
    await this.#reader?.stop();
    this.#reader = undefined;
    const [means = '', who = ''] = way.split(', ');
    if (who === 'cold') await this.#emptyCache();
    this.#context = await this.#browser.newContext(means === 'browser' ? { storageState: this.#stateFile() } : {});
    this.#page = await this.#context.newPage();
    this.#origin = await this.#originOf(means);
  }

  /** @returns milliseconds until the page and its pictures are there */
  async load(path: string): Promise<number> {
    const page = this.#page;
    if (page === undefined) throw new Error('nothing was prepared');
    page.setDefaultTimeout(SLOWEST_LOAD);
    const start = performance.now();
    await page.goto(this.#origin + path, { waitUntil: 'commit', timeout: SLOWEST_LOAD });
    await page.waitForFunction(isLoaded, undefined, { polling: 50, timeout: SLOWEST_LOAD });
    return performance.now() - start;
  }

  async #originOf(means: string): Promise<string> {
    if (means === 'HTTP') return `http://${PLAIN}`;
    if (means === 'HTTPS') return `https://${PLAIN}`;
    if (means === 'HTTP/2') return `https://${PLAIN}:${HTTP2_PORT}`;
    if (means === 'browser') return `https://${PAGES}`;
    return this.#startReader();
  }

  /** A Reader that is connected, and has read nothing. */
  async #startReader(): Promise<string> {
    const folder = this.#file(`reader-${++this.#readers}`);
    await cp(this.#file('reader'), folder, { recursive: true });
    const options = ['--port', '0', '--json', '--quiet', ...this.#readerOptions(folder)];
    this.#reader = await runToReady([NODE, WISPR, 'proxy', ...options], undefined, { env: this.#environment() });
    const { sites } = JSON.parse(this.#reader.line) as { sites: { site: string; gateway: string }[] };
    return new URL(sites.find(({ site }) => site === SITE)?.gateway ?? '').origin;
  }

  async #bind(): Promise<void> {
    const [link] = this.#setting.links;
    const args = ['bind', link, '--trust-site', SITE, '--yes', ...this.#readerOptions(this.#file('reader'))];
    await runCommand('env', [`NODE_EXTRA_CA_CERTS=${this.#setting.authority}`, NODE, WISPR, ...args]);
  }

  async #signIn(): Promise<void> {
    const context = await this.#browser.newContext();
    const page = await context.newPage();
    await page.goto(this.#setting.links[1]);
    await page.click('text=Read in this browser');
    await page.waitForURL((url) => url.hostname !== READ || !url.pathname.startsWith('/-/join'));
    await context.storageState({ path: this.#stateFile() });
    await context.close();
  }

  async #emptyCache(): Promise<void> {
    await this.#cache?.stop();
    this.#cache = await startReverse('squid-reverse', {
      port: CACHE_PORT,
      backend: { host: FAR, port: PROTECTED_PORT },
    });
    if (this.#cache.port !== CACHE_PORT) throw new Error(`port ${CACHE_PORT} is taken`);
  }

  #readerOptions(folder: string): string[] {
    const to = [`${KEYS}:443:${FAR}:443`, `${READ}:443:${FAR}:443`, `${CDN}:443:127.0.0.1:443`];
    const allowed = ['127.0.0.1', FAR].flatMap((host) => ['--allow-local', host]);
    return [
      '--data',
      folder,
      '--key-file',
      join(folder, 'reader.key'),
      ...to.flatMap((rule) => ['--connect-to', rule]),
      ...allowed,
    ];
  }

  #environment(): NodeJS.ProcessEnv {
    return { ...process.env, NODE_EXTRA_CA_CERTS: this.#setting.authority };
  }

  #stateFile(): string {
    return this.#file('signed-in.json');
  }

  #file(name: string): string {
    return join(this.#setting.directory, name);
  }
}

function isLoaded(): boolean {
  return (
    document.readyState === 'complete' &&
    document.images.length > 0 &&
    [...document.images].every(({ complete }) => complete)
  );
}

async function startFront({ directory, chain, key }: PageSetting): Promise<void> {
  const home = join(directory, 'front');
  await mkdir(home);
  await runNginx(
    home,
    `access_log off; server { listen 127.0.0.1:443 ssl http2; ssl_certificate ${chain}; ssl_certificate_key ${key}; ssl_protocols TLSv1.3;
  location / { proxy_http_version 1.1; proxy_set_header Host $host; proxy_pass http://127.0.0.1:${CACHE_PORT}; } }`,
  );
}

const setting: PageSetting = JSON.parse(process.argv[2] ?? '');
const near = await NearSide.start(setting);
await answerCommands(async (command: PageCommand) => {
  if (command.do === 'load') return { milliseconds: await near.load(command.path) };
  await near.prepare(command.way);
  return {};
});
process.exit();
