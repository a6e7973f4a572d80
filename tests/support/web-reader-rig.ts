/** The in-browser reader as an operator would have it: hosts of their own over HTTPS, a content host with CORS, and Chromium. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { makeCertificate } from './certificates.ts';
import { launchChromium } from './chromium.ts';
import { type ContentHost, startContentHost } from './content-host.ts';
import { listen, nameDescriptor, type Rig, startRig, temporaryFolder } from './keyserver-rig.ts';
import { setOf } from './publisher-with-sets.ts';
import { buildWebReader } from './web-reader.ts';

const [KEYS, READ, PAGES] = ['keys.news.example', 'read.news.example', 'pages.news.example'];

export interface WebReaderRig extends WebReaderServers {
  readonly browser: Browser;
  /** Settings of a Chromium that finds the hosts. */
  readonly settings: readonly string[];
  /** The content host that is asked first: out of order, unless a test repairs it. So all others go on to the next one. */
  readonly first: ContentHost;
  /** Puts the keys of sets into the store of the documents' origin, as they arrive from the vault. @param page - at that origin */
  readonly giveKeys: (page: Page, sets: readonly string[], times?: { notAfter?: number }) => Promise<void>;
  /** A page of a browser that has never been here. */
  readonly newPage: () => Promise<Page>;
}

/** The servers alone: any browser may read. */
export interface WebReaderServers extends Rig {
  /** Origins, under names of their own: where their hosts listen is in {@link ports}. */
  readonly account: string;
  readonly documents: string;
  /** Ports on loopback, by the names of the hosts. */
  readonly ports: Readonly<Record<string, number>>;
  /** Key and certificate of the hosts, and of any other with one of these names. */
  readonly tls: { readonly key: string; readonly cert: string };
}

/**
 * @param content - what the descriptor names as content hosts, instead of the good one
 * @param otherNames - for which the certificate is good, too
 */
export async function startWebReaderServers(
  options: {
    before?: readonly string[];
    content?: readonly string[];
    otherNames?: readonly string[];
    firstPage?: 'browser' | 'server';
    config?: Pick<KeyServerConfig, 'mail' | 'stripe'>;
  } = {},
): Promise<WebReaderServers> {
  await buildWebReader();
  const folder = temporaryFolder();
  const names = [KEYS, READ, PAGES, ...(options.otherNames ?? [])].map((host) => `DNS:${host}`);
  const { key, cert } = await makeCertificate(folder, names);
  const tls = { certificate: join(folder, 'leaf.pem'), key: join(folder, 'leaf.key') };
  const [account, documents] = [`https://${READ}`, `https://${PAGES}`];
  const shown = { origin: documents, listen, tls, inBrowser: true, firstPage: options.firstPage ?? 'browser' };
  const reading = { origin: account, listen, tls, documents: shown };
  const rig = await startRig({
    ...options,
    config: { ...options.config, dev: false, origin: `https://${KEYS}`, tls, reading },
  });
  await nameDescriptor(rig);
  const { keyServer, reading: read, documents: pages } = rig.server.ports;
  const ports = { [KEYS]: keyServer, [READ]: read, [PAGES]: pages };
  return { ...rig, account, documents, ports, tls: { key, cert } };
}

export async function startWebReaderRig(firstPage: 'browser' | 'server' = 'browser'): Promise<WebReaderRig> {
  const first = await startContentHost();
  first.handlers.set('*', (_request, response) =>
    response.writeHead(503, { 'access-control-allow-origin': '*' }).end(),
  );
  const rig = await startWebReaderServers({ before: [first.origin], firstPage });
  const rules = [KEYS, READ, PAGES].map((name) => `MAP ${name} 127.0.0.1:${rig.ports[name]}`).join(', ');
  const settings = [
    '--ignore-certificate-errors',
    `--unsafely-treat-insecure-origin-as-secure=${rig.documents}`,
    `--host-resolver-rules=${rules}`,
  ];
  const browser = await launchChromium(...settings);
  return {
    ...rig,
    browser,
    settings,
    first,
    newPage: async () => (await browser.newContext({ ignoreHTTPSErrors: true })).newPage(),
    giveKeys: async (page, sets, { notAfter = 2 ** 40 } = {}) => {
      const keys = sets.map((name) => setOf(rig.publisher, name));
      const plain = keys.map(({ id, key: bytes }) => ({ id, key: Buffer.from(bytes).toString('base64') }));
      store ??= bundledStore();
      await page.evaluate(`(async () => {
        ${await store}
        const opened = await wisprStore.openStore();
        const algorithm = { name: 'HMAC', hash: 'SHA-512' };
        for (const { id, key } of ${JSON.stringify(plain)}) {
          const bytes = Uint8Array.from(atob(key), (character) => character.charCodeAt(0));
          const handle = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign']);
          await opened.keys.put([{ id, key: handle, notBefore: 0, notAfter: ${notAfter} }]);
        }
      })()`);
    },
    close: async () => {
      await browser.close();
      await rig.close().catch(() => undefined); // a test may have closed servers
      await first.close();
    },
  };
}

/** Made once in a process, by the first that needs it. */
let store: Promise<string> | undefined;

/** `web-reader/store.ts`, as the global `wisprStore`. */
async function bundledStore(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../web-reader/store.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'wisprStore',
    platform: 'browser',
    logLevel: 'error',
  });
  return outputFiles[0]?.text ?? '';
}

/** Opens a document as a reader does: at the first visit by way of the page that installs the worker. @returns the answer that shows it */
export async function visit(page: Page, url: string, selector: string): Promise<void> {
  await page.goto(url);
  await page.waitForSelector(selector);
}
