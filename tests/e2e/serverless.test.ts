/** A site without a key server: published by the command line, carried by hosts without any configuration, read in Chromium by links alone. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, stopAll } from '../../cache-config/child.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openKeyStore } from '../../publisher/keys/key-store.ts';
import { putKeyFiles } from '../../publisher/protect/reading-site.ts';
import { keyPeriodOf } from '../../publisher/serverless/key-files.ts';
import { readConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { writeWebReader } from '../../scripts/build-web-reader.ts';
import { accessibilityProblems } from '../support/axe.ts';
import { launchChromium } from '../support/chromium.ts';
import { ROOT } from '../support/programs.ts';
import { STATIC_HOSTS, type StaticHost, type StaticHostName, startStaticHost } from '../support/static-hosts.ts';
import { IS_RELEASE, inRelease } from '../support/tier.ts';
import { runOnTerminal, runWispr } from '../support/wispr.ts';
import { openPage, pictures, playFilm, takePictures } from './browser.ts';

const ARTICLE = '/2026/11/17/the%20great%20tide.html';
const OTHER_DAY = '/2026/11/18/new-ferry.html';
const PASSPHRASE = 'correct horse battery staple';
const PASSWORD = ' the tide waits for no one ';
const ENDED = 'This invitation is not good any more, or the link is not whole.';

let directory: string;
let out: string;
let browser: Browser;
const hosts = new Map<StaticHostName, StaticHost>();
const links = new Map<string, string>();

beforeAll(async () => {
  await writeWebReader();
  directory = await mkdtemp(join(tmpdir(), 'wispr-serverless-'));
  out = join(directory, 'protected');
  await cp(join(ROOT, 'examples/newspaper/site'), join(directory, 'site'), { recursive: true });
  await writeFile(join(directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  const port = await freePort();
  await wispr('init', `http://localhost:${port}`, '--serverless');
  const file = join(directory, 'wispr.json');
  const sets = '"sets": [{ "name": "day-{yyyy}-{mm}-{dd}", "path": "{yyyy}/{mm}/{dd}/**" }]';
  const configuration = (await readFile(file, 'utf8'))
    .replace('"sets": []', sets)
    .replace('"public": []', '"public": ["about.html", "*.css", "*.js", "favicon.svg", "front/**"]')
    .replace('"name": "localhost"', '"name": "The Saltmere Packet"')
    .replace('// "accent"', '"accent"');
  await writeFile(file, configuration);
  for (const name of ['ada', 'ben', 'dora', 'erin', 'mallory']) await invite(name);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await invite('ben', '--sets', 'day-2026-11-17,subscribers', '--until', tomorrow);
  await publish();
  for (const name of STATIC_HOSTS)
    hosts.set(name, await startStaticHost(name, out, name === 'nginx' ? port : undefined));
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await stopAll();
  await rm(directory, { recursive: true, force: true });
});

async function wispr(...args: string[]): Promise<string> {
  const options = args[0] === 'verify' ? [] : ['--passphrase-file', 'passphrase'];
  const { code, stdout, stderr } = await runWispr([...args, ...options], { cwd: directory });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
}

const publish = () => wispr('publish', '--quiet');
async function invite(name: string, ...more: string[]): Promise<void> {
  links.set(name, (await wispr('invite', name, ...more)).trim());
}

/** The link of one invitation, at one of the hosts. All have the same files. */
function linkAt(name: string, host: StaticHostName = 'nginx'): string {
  const { origin } = hosts.get(host) as StaticHost;
  return (links.get(name) ?? '').replace(/^http:\/\/[^/]*/, origin);
}
const originOf = (host: StaticHostName = 'nginx') => (hosts.get(host) as StaticHost).origin;

/** A browser that has never been here. */
const newPage = async (): Promise<Page> => (await browser.newContext()).newPage();

async function expectReading(page: Page): Promise<void> {
  await page.waitForSelector('html[data-reader="ready"]');
  expect((await pictures(page)).filter(({ width }) => width === 0)).toEqual([]);
}

/** What the browser keeps with a handle: the invitation, by its name, and set keys, by their ids. */
const handlesIn = (page: Page) =>
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

/** Leaves the key files of a publisher whose clock is wrong. */
async function putKeysOf(now: number): Promise<void> {
  const configuration = await readConfiguration(join(directory, 'wispr.json'));
  const { contents, rootId } = await openKeyStore(await readFile(join(directory, 'publisher.keys')), PASSPHRASE);
  await putKeyFiles({ configuration, out, contents, rootId, now });
}

const refusalOf = async (page: Page) => {
  await page.waitForSelector('#refusal:not([hidden]), #problem:not([hidden])');
  return page.textContent('#refusal:not([hidden]) h1, #problem:not([hidden])');
};

describe.each(IS_RELEASE ? STATIC_HOSTS : STATIC_HOSTS.slice(0, 1))('an invitation opened at %s', (host) => {
  it('leads to the site: pages, pictures, downloads, and a film in which one can seek', async () => {
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
  });
});

describe('who may read', () => {
  inRelease(() => {
    it('two friends in two browsers read what each was invited to', async () => {
      const [ada, ben] = [await newPage(), await newPage()];
      await ada.addInitScript(() => {
        const { attachShadow } = Element.prototype;
        Element.prototype.attachShadow = function open(init) {
          return attachShadow.call(this, { ...init, mode: 'open' });
        };
      });
      await ada.goto(linkAt('ada'));
      await ben.goto(`${linkAt('ben')}&to=${encodeURIComponent(ARTICLE)}`);
      await ben.waitForURL(originOf() + ARTICLE);
      await expectReading(ben);
      await ada.goto(originOf() + OTHER_DAY);
      await expectReading(ada);
      await ada.click('[aria-label="About this page"]');
      await ada.waitForSelector('dialog >> button:has-text("Keep this issue")');
      expect(await ada.isVisible('dialog >> a:has-text("Saved pages")')).toBe(true);
      expect(await ada.isVisible('dialog >> a:has-text("Your account")')).toBe(false);
      await ben.goto(originOf() + OTHER_DAY);
      await ben.waitForURL(originOf() + OTHER_DAY); // by way of the page that looks for the key
      expect(await ben.title()).toBe('Your invitation does not include this page.');
      await ada.goto(`${originOf()}/-/open.html#to=//elsewhere.example/`);
      await ada.waitForURL(`${originOf()}/`);
      await Promise.all([ada, ben].map((page) => page.context().close()));
    });

    it('keeps the secret out of the history, and no handle of a key gives its bytes', async () => {
      const page = await newPage();
      await page.goto('about:blank');
      const secret = linkAt('ada').split('#i=')[1] ?? '';
      const seen: string[] = [];
      page.on('request', (request) => seen.push(request.url()));
      page.on('framenavigated', (frame) => seen.push(frame.url()));
      await page.goto(linkAt('ada'));
      await page.waitForURL(`${originOf()}/`);
      await expectReading(page);
      expect(seen.filter((url) => url.includes(secret))).toEqual([linkAt('ada')]); // where it was typed
      const stored = await handlesIn(page);
      expect(stored.length).toBeGreaterThan(3);
      expect(new Set(stored.map(({ extractable }) => extractable))).toEqual(new Set([false]));
      await page.goBack();
      expect(page.url()).toBe('about:blank');
      await page.context().close();
    });
  });

  it("another's link shortens no key, and takes the place of an invitation only if it gives more", async () => {
    const [page, other] = [await newPage(), await newPage()];
    await page.goto(linkAt('ada'));
    await page.waitForURL(`${originOf()}/`);
    const stored = await handlesIn(page);
    for (const [each, name] of [
      [page, 'ben'],
      [other, 'ben'],
      [other, 'ada'],
    ] as const) {
      await each.goto(linkAt(name));
      await each.waitForURL(`${originOf()}/`);
      if (each === other && name === 'ben') expect(await handlesIn(each)).not.toEqual(stored);
      else expect(await handlesIn(each)).toEqual(stored);
    }
    await Promise.all([page, other].map((each) => each.context().close()));
  });

  inRelease(() => {
    it('without an invitation, a teaser leads to the page that takes one', async () => {
      const page = await newPage();
      const rest = '?from=newsletter&a=b#high-water';
      await page.goto(originOf() + ARTICLE + rest);
      expect(await page.getAttribute('#read', 'href')).toBe(`${originOf()}/-/open.html#to=${ARTICLE}${rest}`);
      await takePictures(page, 'serverless-teaser');
      await page.click('#read');
      await page.waitForSelector('#ask:not([hidden])');
      expect(await page.textContent('h1:visible')).toBe('Open the link of your invitation');
      expect(await accessibilityProblems(page)).toEqual([]);
      await takePictures(page, 'serverless-no-invitation');
      await page.fill('#answer', 'https://elsewhere.example/');
      await page.click('#ask button');
      expect(await refusalOf(page)).toBe(ENDED);
      await page.fill('#answer', `Here you are: <${linkAt('ada')}>. Bye `);
      await page.click('#ask button');
      await page.waitForURL(originOf() + ARTICLE + rest);
      await expectReading(page);
      await page.context().close();
    });

    it('a shared password opens, and a wrong one does not', async () => {
      const answers = [
        ['passphrase', `${PASSPHRASE}\r`],
        ['a password for the class', `${PASSWORD}\r`],
        ['again', `${PASSWORD}\r`],
      ] as const;
      const { code, shown } = await runOnTerminal(['invite', 'the class', '--password'], answers, { cwd: directory });
      expect([code, shown]).toEqual([0, expect.stringContaining('can try passwords on their own computer')]);
      expect(shown).not.toContain(PASSWORD.trim());
      links.set('the class', /http:\S+#p=[\w-]{22}(?=\s)/.exec(shown)?.[0] ?? '');
      await publish();
      const page = await newPage();
      await page.goto(linkAt('the class'));
      await page.waitForSelector('#ask:not([hidden])');
      await takePictures(page, 'serverless-password');
      await page.fill('#answer', 'a wrong password');
      await page.click('#ask button');
      expect(await refusalOf(page)).toBe('This password opens nothing: it is wrong, or the invitation has ended.');
      expect(await accessibilityProblems(page)).toEqual([]);
      await takePictures(page, 'serverless-wrong-password');
      await page.fill('#answer', PASSWORD);
      await page.click('#ask button');
      await page.waitForURL(`${originOf()}/`);
      await expectReading(page);
      await page.context().close();
    });

    it('a browser without service workers says so, and keeps the link for another one', async () => {
      const insecure = await launchChromium('--host-resolver-rules=MAP friends.example 127.0.0.1');
      const page = await insecure.newPage();
      const link = linkAt('ada').replace('localhost', 'friends.example');
      await page.goto(link);
      expect(await refusalOf(page)).toBe('This browser cannot read here: open the link in another one.');
      expect(page.url()).toBe(link);
      await takePictures(page, 'serverless-unsupported');
      await insecure.close();
    });
  });
});

describe('keys that end', () => {
  inRelease(() => {
    it('are fetched anew without any tap, once the publisher has published again', async () => {
      const page = await newPage();
      await putKeysOf(nowInSeconds() - 120 * 86_400);
      await page.goto(`${linkAt('erin')}&to=${encodeURIComponent(ARTICLE)}`);
      await page.waitForURL(originOf() + ARTICLE);
      expect(await page.title()).toBe('Your key for this page is not valid now.');
      await takePictures(page, 'serverless-key-ended');
      await publish();
      await page.goto(originOf() + OTHER_DAY);
      await expectReading(page);
      await page.goto(originOf() + ARTICLE);
      await expectReading(page);
      await page.context().close();
    });
  });

  it('are not fetched again with an invitation that was removed; until then they open', async () => {
    const [page, late] = [await newPage(), await newPage()];
    await page.goto(linkAt('dora'));
    await page.waitForURL(`${originOf()}/`);
    await putKeysOf(nowInSeconds() - 120 * 86_400);
    await late.goto(linkAt('dora'));
    await late.waitForURL(`${originOf()}/`);
    const files = await readdir(join(out, '-/keys'));
    const { ends } = JSON.parse(await wispr('invite', 'dora', '--remove', '--json'));
    expect(ends).toBe(keyPeriodOf(nowInSeconds()).notAfter);
    await publish();
    expect((await readdir(join(out, '-/keys'))).length).toBe(files.length - 1);
    await page.goto(originOf() + ARTICLE);
    await expectReading(page);
    await late.goto(originOf() + OTHER_DAY);
    expect(await refusalOf(late)).toBe(ENDED);
    await takePictures(late, 'serverless-ended');
    const stranger = await newPage();
    await stranger.goto(linkAt('dora'));
    expect(await refusalOf(stranger)).toBe(ENDED);
    await Promise.all([page, late, stranger].map((each) => each.context().close()));
  });
});

describe('a host that is not honest', () => {
  it('attack 72: cannot give out a key file that it has changed, or exchange two', async () => {
    const folder = join(out, '-/keys');
    const before = await Promise.all(
      (await readdir(folder)).map(async (name) => ({ name, bytes: await readFile(join(folder, name)) })),
    );
    const page = await newPage();
    for (const { name, bytes } of before) await writeFile(join(folder, name), bytes.with(2000, (bytes[2000] ?? 0) ^ 1));
    await page.goto(linkAt('mallory'));
    const changed = 'This invitation was changed on its way to you, so it is not opened.';
    expect(await refusalOf(page)).toBe(changed);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'serverless-changed');
    for (const [index, { name }] of before.entries())
      await writeFile(join(folder, name), before.at(index - 1)?.bytes ?? '');
    const other = await newPage();
    await other.goto(linkAt('mallory'));
    expect(await refusalOf(other)).toBe(changed);
    await other.context().close();
    await publish();
    await page.click('#act');
    await page.waitForURL(`${originOf()}/`);
    await expectReading(page);
    await page.context().close();
  });
});

inRelease(() => {
  describe('without a network', () => {
    it('what was read opens again, and an invitation says what is missing', async () => {
      const [page, stranger] = [await newPage(), await newPage()];
      await page.goto(`${linkAt('ada', 'python')}&to=${encodeURIComponent(ARTICLE)}`);
      await page.waitForURL(originOf('python') + ARTICLE);
      await expectReading(page);
      await stranger.goto(`${originOf('python')}/-/open.html`);
      await stranger.waitForSelector('#ask:not([hidden])');
      await hosts.get('python')?.stop();
      await page.goto('about:blank');
      await page.goto(originOf('python') + ARTICLE);
      await page.waitForSelector('html[data-reader="ready"]');
      await stranger.fill('#answer', linkAt('ada', 'python'));
      await stranger.click('#ask button');
      expect(await refusalOf(stranger)).toBe('This page could not be opened: check your connection.');
      await Promise.all([page, stranger].map((each) => each.context().close()));
    });
  });

  it('connects no Reader, and says where the site is read instead', async () => {
    const home = await mkdtemp(join(tmpdir(), 'wispr-home-'));
    const env = { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: home };
    for (const link of [originOf(), linkAt('ada')]) {
      const { code, stderr } = await runWispr(['bind', link, '--yes', '--allow-local', '127.0.0.1'], {
        cwd: home,
        env,
      });
      expect([code, stderr]).toEqual([2, expect.stringContaining('[read-in-browser]')]);
      expect(stderr).not.toContain(link.split('#i=')[1] ?? '#i=');
    }
    await rm(home, { recursive: true });
  });
});

it('leaves an output in which verify and check find nothing', async () => {
  await wispr('verify');
  const { code } = await runWispr(['check', '--quiet'], { cwd: directory });
  expect(code).toBe(0);
});
