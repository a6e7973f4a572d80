/** A site without a key server: published by the command line, carried by hosts without any configuration, read in Chromium by links alone. One in each file. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { freePort, stopAll } from '../../../cache-config/child.ts';
import { openKeyStore } from '../../../publisher/keys/key-store.ts';
import { writeKeyFiles } from '../../../publisher/protect/reading-site.ts';
import { readConfiguration } from '../../../publisher/workspace/configuration/read.ts';
import { launchChromium } from '../chromium.ts';
import { ROOT } from '../programs.ts';
import { type StaticHost, type StaticHostName, startStaticHost } from '../static-hosts.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { buildWebReader } from '../web-reader.ts';
import { runWispr } from '../wispr.ts';
import { PASSPHRASE } from '../workspace.ts';
import { openPage, pictures, playFilm } from './browser.ts';

export const ARTICLE = '/2026/11/17/the%20great%20tide.html';
export const OTHER_DAY = '/2026/11/18/new-ferry.html';
export const ENDED = 'This invitation no longer works, or the link is not whole.';

export class ServerlessSite {
  readonly directory: string;
  readonly out: string;
  readonly hosts = new Map<StaticHostName, StaticHost>();
  readonly links = new Map<string, string>();
  browser!: Browser;

  private constructor(directory: string) {
    this.directory = directory;
    this.out = join(directory, 'protected');
  }

  /** Publishes the newspaper, and invites. @param names - of the hosts that carry it; nginx is the one of the configuration */
  static async start(...names: StaticHostName[]): Promise<ServerlessSite> {
    await buildWebReader();
    const site = new ServerlessSite(temporaryFolder());
    const port = await freePort();
    await site.#configure(port);
    for (const name of ['ada', 'ben', 'dora', 'erin', 'mallory']) await site.invite(name);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    await site.invite('ben', '--sets', 'day-2026-11-17,subscribers', '--until', tomorrow);
    await site.publish();
    for (const name of names)
      site.hosts.set(name, await startStaticHost(name, site.out, name === 'nginx' ? port : undefined));
    site.browser = await launchChromium();
    return site;
  }

  async #configure(port: number): Promise<void> {
    const { directory } = this;
    await cp(join(ROOT, 'examples/newspaper/site'), join(directory, 'site'), { recursive: true });
    await writeFile(join(directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
    await this.wispr('init', `http://localhost:${port}`, '--serverless');
    const file = join(directory, 'wispr.json');
    const sets = '"sets": [{ "name": "day-{yyyy}-{mm}-{dd}", "path": "{yyyy}/{mm}/{dd}/**" }]';
    const configuration = (await readFile(file, 'utf8'))
      .replace('"sets": []', sets)
      .replace('"public": []', '"public": ["about.html", "*.css", "*.js", "favicon.svg", "front/**"]')
      .replace('"name": "localhost"', '"name": "The Saltmere Packet"')
      .replace('// "accent"', '"accent"');
    await writeFile(file, configuration);
  }

  readonly wispr = async (...args: string[]): Promise<string> => {
    const options = args[0] === 'verify' ? [] : ['--passphrase-file', 'passphrase'];
    const { code, stdout, stderr } = await runWispr([...args, ...options], { cwd: this.directory });
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    return stdout;
  };
  readonly publish = () => this.wispr('publish', '--quiet');
  readonly invite = async (name: string, ...more: string[]) =>
    this.links.set(name, (await this.wispr('invite', name, ...more)).trim());

  readonly originOf = (host: StaticHostName = 'nginx') => (this.hosts.get(host) as StaticHost).origin;
  /** The link of one invitation, at one of the hosts. All have the same files. */
  readonly linkAt = (name: string, host: StaticHostName = 'nginx') =>
    (this.links.get(name) ?? '').replace(/^http:\/\/[^/]*/, this.originOf(host));

  /** A browser that has never been here. */
  readonly newPage = async (): Promise<Page> => (await this.browser.newContext()).newPage();

  /** Leaves the key files of a publisher whose clock is wrong. */
  readonly putKeysOf = async (now: number): Promise<void> => {
    const { directory, out } = this;
    const configuration = await readConfiguration(join(directory, 'wispr.json'));
    const { contents, rootId } = await openKeyStore(await readFile(join(directory, 'publisher.keys')), PASSPHRASE);
    await writeKeyFiles({ configuration, out, contents, rootId, now });
  };

  /** Opens an invitation at a host, and everything that there is: pages, pictures, downloads, a film, a whole issue to keep. */
  async readAt(host: StaticHostName): Promise<void> {
    const { originOf, linkAt, browser } = this;
    const { page, trouble, origins } = await openPage(browser);
    await page.goto(linkAt('ada', host));
    await page.waitForURL(`${originOf(host)}/`);
    await expectReading(page);
    expect(await page.title()).toBe('The Saltmere Packet');
    await page.goto(originOf(host) + ARTICLE);
    await expectReading(page);
    const film = await playFilm(page, '#high-water');
    expect(film).toMatchObject({ played: true });
    expect(Math.abs(film.at)).toBeLessThan(0.5);
    const types = await page.evaluate(async () => {
      const paths = [
        '/2026/11/18/supplement/winter-timetable.pdf',
        '/2026/11/17/data/tides.csv',
        '/about.html',
        '/style.css',
      ];
      const answers = await Promise.all(paths.map((path) => fetch(path)));
      return answers.map(({ status, headers }) => `${status} ${headers.get('content-type')?.split(';')[0]}`);
    });
    expect(types).toEqual(['200 application/pdf', '200 text/csv', '200 text/html', '200 text/css']);
    await page.evaluate(`fetch('/-/kept?keep=' + encodeURIComponent(location.pathname), { method: 'POST' })`);
    await page.goto(`${originOf(host)}/-/library`);
    await page.waitForSelector('article p:has-text("whole issue")');
    expect(trouble).toEqual([]);
    expect([...origins]).toEqual([originOf(host)]);
    await page.context().close();
  }

  async close(): Promise<void> {
    await this.browser?.close();
    await stopAll();
  }
}

export async function expectReading(page: Page): Promise<void> {
  await page.waitForSelector('html[data-reader="ready"]');
  expect((await pictures(page)).filter(({ width }) => width === 0)).toEqual([]);
}

/** Reads what the browser keeps with a handle: the invitation, by its name, and set keys, by their ids. */
export const handlesIn = (page: Page) =>
  page.evaluate(async () => {
    const opening = indexedDB.open('wispr');
    await new Promise((resolve) => {
      opening.onsuccess = resolve;
    });
    const transaction = opening.result.transaction(['keys', 'state']);
    const all = (table: string) =>
      new Promise<unknown[]>((resolve) => {
        const request = transaction.objectStore(table).getAll();
        request.onsuccess = () => resolve(request.result);
      });
    const values = (await Promise.all([all('keys'), all('state')])).flat() as (Record<string, unknown> | undefined)[];
    opening.result.close();
    return values.flatMap(({ key, id, name, notAfter } = {}) =>
      key instanceof CryptoKey ? { id, name, notAfter, extractable: key.extractable } : [],
    );
  });

export const refusalOf = async (page: Page) => {
  await page.waitForSelector('#refusal:not([hidden]), #problem:not([hidden])');
  return page.textContent('#refusal:not([hidden]) h1, #problem:not([hidden])');
};
