/** A site of a generator from its source to its readers: built, recognised by `wispr init`, checked, published, and read in Chromium. */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { RunningKeyServer } from '../../../keyserver/server.ts';
import type { CheckReport } from '../../../publisher/check/report.ts';
import type { ContentHost } from '../../../serve/hosts.ts';
import { chooseSite } from '../../../serve/site.ts';
import { type Person, World } from '../../../serve/world.ts';
import { launchChromium } from '../../support/chromium.ts';
import { openPage } from '../../support/pages/browser.ts';
import { ROOT } from '../../support/programs.ts';
import { runWispr } from '../../support/wispr.ts';
import { PASSPHRASE } from '../../support/workspace.ts';

export interface Generator {
  /** The folder of its source below `tests/generators`, and of what is installed for it below `.cache/generators`. */
  readonly folder: string;
  /** Programs that build the site: of the folder, or of the system. */
  readonly build: string;
  /** Folder into which it writes, as `wispr init` is to find out. */
  readonly source: string;
  /** Path of the article; a reader may redirect to the same path with a slash. */
  readonly article: string;
  /** The files that hold its text besides, with `*` for what changes. */
  readonly copies?: readonly string[];
}

const INSTALLED = join(ROOT, '.cache/generators');
const HEADLINE = 'The great tide';
const EXCERPT = 'The water came in as announced.';
const FURTHER_DOWN = 'bathing machine';

export class GeneratedSite {
  readonly #generator: Generator;
  readonly directory: string;
  #world!: World;
  #browser!: Browser;
  #keyServer!: RunningKeyServer;
  #host!: ContentHost;
  #ada!: Person;

  private constructor(generator: Generator, directory: string) {
    this.#generator = generator;
    this.directory = directory;
  }

  /** A folder with the source, next to the installed packages. */
  static async create(generator: Generator): Promise<GeneratedSite> {
    const installed = join(INSTALLED, generator.folder);
    await mkdir(installed, { recursive: true });
    const directory = await mkdtemp(join(installed, 'site-'));
    await cp(join(ROOT, 'tests/generators', generator.folder), directory, { recursive: true });
    return new GeneratedSite(generator, directory);
  }

  build(): void {
    const installed = join(INSTALLED, this.#generator.folder);
    const PATH = [join(installed, 'node_modules/.bin'), join(installed, 'bin'), process.env.PATH].join(':');
    const env = { ...process.env, PATH, NODE_ENV: 'production', NO_COLOR: '1' };
    execFileSync('sh', ['-c', this.#generator.build], { cwd: this.directory, env, stdio: 'pipe' });
  }

  /** Makes keys and a configuration. */
  async init(): Promise<void> {
    await writeFile(join(this.directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
    const args = ['init', 'http://news.example', '--passphrase-file', 'passphrase'];
    const { code, stderr } = await runWispr(args, { cwd: this.directory });
    expect([code, stderr]).toEqual([0, '']);
  }

  readonly settings = () => chooseSite(this.directory);

  /** @returns what `wispr check` says of what breaks: nothing, if all is well */
  async check(): Promise<string> {
    const { code, stdout } = await runWispr(['check', '--quiet'], { cwd: this.directory });
    expect([code, stdout]).toEqual([0, expect.any(String)]);
    return stdout;
  }

  /** @returns the files that `wispr check` names for the article's text in them */
  async copies(): Promise<string[]> {
    const { stdout } = await runWispr(['check', '--json'], { cwd: this.directory });
    const { groups } = JSON.parse(stdout) as CheckReport;
    const found = groups.find(({ kind }) => kind === 'copy')?.findings ?? [];
    return found.map(({ subject }) => subject.slice(1)).sort();
  }

  /** Adds rules of wispr.json. */
  async putIntoSet(paths: readonly string[], name: string): Promise<void> {
    const file = join(this.directory, 'wispr.json');
    const sets = paths.map((path) => JSON.stringify({ path, name }));
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('"sets": []', `"sets": [${sets.join()}]`));
  }

  async publish(): Promise<void> {
    this.#world = await World.create(await this.settings());
    this.#keyServer = await this.#world.startKeyServer();
    this.#host = await this.#world.startContentHost(this.#keyServer.readingUrl);
    await this.#world.publish(this.#keyServer, this.#host.url);
    this.#ada = await this.#world.addReader('ada', this.#keyServer, undefined);
    this.#browser = await launchChromium();
  }

  /** The teaser of the article, as a visitor without access gets it. */
  async expectTeaser(): Promise<void> {
    const page = await (await fetch(this.#host.url + this.#generator.article)).text();
    expect(page).toContain(EXCERPT);
    expect(page).not.toContain(FURTHER_DOWN);
  }

  async readInReader(): Promise<void> {
    const gateway = ((await this.#ada.proxy.gatewayUrl(this.#world.site)) ?? '').slice(0, -1);
    const { page, trouble, origins } = await openPage(this.#browser);
    await page.goto(`${gateway}/`);
    await this.#readOn(page, gateway);
    expect(trouble).toEqual([]);
    expect([...origins]).toEqual([gateway]);
  }

  async readInBrowser(): Promise<void> {
    const { readingUrl, documentsUrl } = this.#keyServer;
    const { page, trouble, origins } = await openPage(this.#browser);
    await page.goto(readingUrl + this.#generator.article);
    await page.click('aside >> text=Sign in');
    await page.fill('#name', this.#ada.name);
    await page.fill('#password', this.#ada.password);
    await page.click('#sign-in button');
    await page.waitForURL(`${documentsUrl}${this.#generator.article}**`);
    await expectWhole(page, HEADLINE);
    const signingIn = trouble.length; // keys are refused until then
    await page.goto(`${documentsUrl}/`);
    await this.#readOn(page, documentsUrl);
    expect(trouble.slice(signingIn)).toEqual([]);
    expect([...origins].sort()).toEqual([readingUrl, documentsUrl, this.#host.url].sort());
  }

  /** Follows the front page's link to the article: text, style sheet and script, on both. */
  async #readOn(page: Page, origin: string): Promise<void> {
    await expectWhole(page, 'Harbour notes');
    await page.click(`a:text("${HEADLINE}")`);
    await page.waitForURL(`${origin}${this.#generator.article}**`);
    await expectWhole(page, HEADLINE);
    expect(await page.textContent('body')).toContain(FURTHER_DOWN);
    await page.reload();
    await expectWhole(page, HEADLINE);
  }

  async close(): Promise<void> {
    await this.#browser?.close();
    await this.#world?.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function expectWhole(page: Page, headline: string): Promise<void> {
  const heading = page.locator(`h1:has-text("${headline}")`).first();
  await heading.waitFor();
  expect(await heading.evaluate((element) => getComputedStyle(element).color)).toBe('rgb(1, 60, 90)');
  await page.waitForSelector('html[data-script="ran"]');
}
