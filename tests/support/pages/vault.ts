/** The vault, the documents' origin and their readers in Chromium, over HTTPS and with hosts of their own. */
import { createServer } from 'node:http';
import type { BrowserContext, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { overview } from '../../../keyserver/operations/overview.ts';
import { invitationLink } from '../../../keyserver/readers/invitations.ts';
import { closeServer, listenOnLoopback } from '../content-host.ts';
import { publish } from '../publisher-with-sets.ts';
import { startWebReaderRig, type WebReaderRig } from '../web-reader-rig.ts';

export const VAULT = 'https://read.news.example';
export const CONTENT = 'https://pages.news.example';
const HTML = 'text/html; charset=utf-8';
const APP = '<title>App</title><h1>App</h1><input><img src="app.svg" alt=""><script src="app.js"></script>';
const LETTER =
  '<title>Letter</title><link rel="stylesheet" href="letter.css"><h1>Letter</h1><p style="height: 3000px"></p><h2 id="end">End</h2>';

export interface Vault {
  readonly rig: WebReaderRig;
  /** Origin of a page of another site. */
  readonly foreign: string;
  /** A page of a browser that has never been here, and is closed after the test. */
  newPage(): Promise<Page>;
  /** The link of an invitation. */
  invite(name: string, sets?: readonly string[]): Promise<string>;
  /** Opens the link of an invitation, and takes the second tap. */
  joinAs(page: Page, name: string, sets?: readonly string[]): Promise<void>;
  devicesOf(name: string): Promise<readonly { readonly revoked: number | null }[]>;
  close(): Promise<void>;
}

export async function startVault(firstPage?: 'browser' | 'server'): Promise<Vault> {
  const rig = await startWebReaderRig(firstPage);
  const documents = (
    [
      ['/index.html', '<title>Front</title><h1>Front</h1><a href="letter.html">Letter</a>', undefined],
      ['/evil.html', '<title>Evil</title><body><h1>Evil</h1>', undefined],
      ['/letter.html', LETTER, 'day-1'],
      ['/letter.css', 'h1 { color: green }', undefined, 'text/css'],
      ['/closed.html', '<title>Closed</title><h1>Closed</h1>', undefined, HTML, "default-src 'none'"],
      [
        '/frameless.html',
        `<meta http-equiv="Content-Security-Policy" content="frame-src 'none'"><title>Frameless</title><h1>Frameless</h1>`,
        undefined,
      ],
      ['/second.html', '<title>Second</title><h1>Second</h1>', 'day-2'],
      ['/app.html', APP, undefined],
      ['/app.js', 'document.title += " started"', 'day-1', 'text/javascript'],
      ['/app.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', 'day-1', 'image/svg+xml'],
    ] as const
  ).map(([path, content, set, mediaType = HTML, policy]) => ({
    ...{ path, content, mediaType },
    ...(set && { set }),
    ...(policy && { headers: { 'content-security-policy': policy } }),
  }));
  await publish(rig.publisher, rig.host, ...documents);
  const elsewhere = createServer((_request, response) =>
    response.setHeader('content-type', HTML).end('<title>Elsewhere</title>'),
  );
  const foreign = `http://localhost:${await listenOnLoopback(elsewhere)}`;
  const invite = async (name: string, sets?: readonly string[]) =>
    invitationLink(await rig.invite({ name, ...(sets && { sets }) }), VAULT, rig.publisher.root.id);
  return {
    rig,
    foreign,
    invite,
    newPage: async () => {
      const page = await rig.newPage();
      onTestFinished(() => page.context().close());
      return page;
    },
    joinAs: async (page, name, sets) => {
      await page.goto(await invite(name, sets));
      await page.click('text=Read in this browser');
      await page.waitForSelector('text=Front');
    },
    devicesOf: async (name) =>
      (await overview(rig.server.state)).subscribers.find((subscriber) => subscriber.name === name)?.devices ?? [],
    close: async () => {
      await rig.close();
      await closeServer(elsewhere);
    },
  };
}

/** Opens a document, by its path and its heading. */
export async function read(page: Page, path: string, title: string): Promise<void> {
  await page.goto(CONTENT + path);
  await heading(page, title);
}

/** Waits until the reader has come behind the page. */
export async function readerHasCome(page: Page): Promise<void> {
  await page.waitForSelector('html > div', { state: 'attached' });
  await page.waitForSelector('iframe', { state: 'detached' });
}

export const heading = (page: Page, text: string) => page.waitForSelector(`h1:text-is("${text}")`);

/** The ids of the set keys that the content origin keeps, and whether any can be extracted. */
export function keptKeys(page: Page): Promise<{ ids: string[]; extractable: boolean }> {
  return page.evaluate(`(async () => {
    const open = indexedDB.open('wispr');
    const database = await new Promise((resolve) => (open.onsuccess = () => resolve(open.result)));
    const all = database.transaction('keys').objectStore('keys').getAll();
    const keys = await new Promise((resolve) => (all.onsuccess = () => resolve(all.result)));
    database.close();
    return { ids: keys.map(({ id }) => id), extractable: keys.some(({ key }) => key.extractable) };
  })()`);
}

/** The same, by a page of its own that no worker answers. */
export async function contentKeys(context: BrowserContext): Promise<{ ids: string[]; extractable: boolean }> {
  const page = await context.newPage();
  await page.goto(`${CONTENT}/-/style.css`);
  const names = (await page.evaluate('indexedDB.databases()')) as unknown[];
  const kept = names.length === 0 ? { ids: [], extractable: false } : await keptKeys(page);
  await page.close();
  return kept;
}

/** Clears keys as when they have run out: an expression for a page at the content origin. */
export const CLEAR_KEYS = `new Promise((resolve) => {
  const open = indexedDB.open('wispr');
  open.onsuccess = () => {
    const change = open.result.transaction(['keys', 'state'], 'readwrite');
    change.objectStore('keys').clear();
    change.objectStore('state').delete(IDBKeyRange.bound('asked ', 'asked ~'));
    change.oncomplete = () => resolve(open.result.close());
  };
})`;

export const clearKeys = (page: Page) => page.evaluate(CLEAR_KEYS);
