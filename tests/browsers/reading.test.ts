/** The in-browser reader in Firefox and in WebKit, as one reader's story: docs/reader.md, "Browsers". */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { invitationLink } from '../../keyserver/readers/invitations.ts';
import { forFile } from '../support/for-file.ts';
import { PIXEL } from '../support/pages/browser.ts';
import { FILM } from '../support/pages/stories.ts';
import { CLEAR_KEYS } from '../support/pages/vault.ts';
import { fileOf, publish, type TestDocument } from '../support/publisher-with-sets.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWebReaderServers } from '../support/web-reader-rig.ts';
import type { BrowserSettings, BrowserUnderTest } from './driver.ts';
import { startFirefox } from './firefox.ts';
import { startNetwork } from './network.ts';
import { startWebkit } from './webkit.ts';

const CONTENT_HOST = 'cache.news.example';
const HTML = 'text/html; charset=utf-8';
const TABLE = 'hour,height\n'.concat('6,4.2\n'.repeat(50_000));
const STORY = `<!doctype html><title>The harbour</title><link rel="stylesheet" href="../style.css">
  <h1>The harbour</h1><img src="boat.png" alt="A boat"><p>Ships</p><a id="next" href="../21/story.html">Tomorrow</a>
  <a id="table" href="tides.csv" download>The tides</a><script src="/script.js"></script>`;

const rig = forFile(() => startWebReaderServers({ content: [`https://${CONTENT_HOST}`], otherNames: [CONTENT_HOST] }));
const network = forFile(() => startNetwork(rig.ports));
/** Servers that open first pages themselves. */
const served = forFile(() =>
  startWebReaderServers({ content: [`https://${CONTENT_HOST}`], otherNames: [CONTENT_HOST], firstPage: 'server' }),
);
const servedNetwork = forFile(() => startNetwork(served.ports));
beforeAll(async () => {
  await network.addPlainHost(CONTENT_HOST, rig.host.port, rig.tls);
  await servedNetwork.addPlainHost(CONTENT_HOST, served.host.port, served.tls);
  const titled = (path: string) => ({ path, content: `<!doctype html><title>${path}</title>`, mediaType: HTML });
  await publish(served.publisher, served.host, titled('/index.html'), { ...titled('/second.html'), set: 'day-2' });
  const documents: TestDocument[] = [
    {
      path: '/index.html',
      content: '<title>Front</title><a id="story" href="20/story.html">Story</a>',
      mediaType: HTML,
    },
    { path: '/20/story.html', content: STORY, mediaType: HTML, set: 'day-1', gzip: true },
    { path: '/cover.html', content: '<title>Cover</title><img src="20/boat.png" alt="">', mediaType: HTML },
    { path: '/20/boat.png', content: PIXEL, mediaType: 'image/png', set: 'day-1' },
    { path: '/style.css', content: 'h1 { color: rgb(1, 2, 3) }', mediaType: 'text/css' },
    { path: '/script.js', content: 'document.title += " (script)"', mediaType: 'text/javascript' },
    {
      path: '/20/film.html',
      content: '<title>Film</title><video src="film.webm"></video>',
      mediaType: HTML,
      set: 'day-1',
    },
    { path: '/20/film.webm', content: await readFile(FILM), mediaType: 'video/webm', set: 'day-1' },
    { path: '/20/tides.csv', content: TABLE, mediaType: 'text/csv', set: 'day-1' },
    { path: '/20/unread.html', content: '<title>Unread</title>', mediaType: HTML, set: 'day-1' },
    { path: '/20/forged.html', content: '<title>Forged</title>Ships', mediaType: HTML, set: 'day-1' },
    { path: '/21/story.html', content: '<title>Tomorrow</title>', mediaType: HTML, set: 'day-2' },
  ];
  await publish(rig.publisher, rig.host, ...documents);
});

const BROWSERS = [
  ['Firefox', startFirefox],
  ['WebKit', startWebkit],
] as const;

describe.each(BROWSERS)('%s', (name, start) => {
  let browser: BrowserUnderTest;
  let downloads: string;
  beforeAll(async () => {
    downloads = temporaryFolder();
    browser = await open({});
  });
  afterAll(() => browser?.close());

  const open = (settings: Partial<BrowserSettings>) => start({ proxy: network.port, downloads, ...settings });
  const go = (path: string) => browser.open(rig.documents + path);
  const titled = (title: string, shown = browser) =>
    expect.poll(() => shown.evaluate('document.title').catch(String)).toBe(title);

  /** Takes two taps: on the page of the invitation and on the front page. */
  async function readFirstArticle(shown: BrowserUnderTest, reader: string): Promise<void> {
    const invitation = await rig.invite({ name: `${reader} of ${name}` });
    await shown.open(invitationLink(invitation, rig.account, rig.publisher.root.id));
    await expect.poll(() => shown.evaluate('document.querySelector("#as")?.hidden').catch(String)).toBe(false);
    await shown.click('#here button');
    await titled('Front', shown);
    await shown.click('#story');
    await expectStory(shown);
  }

  async function expectStory(shown = browser): Promise<void> {
    await titled('The harbour (script)', shown);
    await expect.poll(() => shown.evaluate('document.querySelector("img").naturalWidth')).toBe(1);
    expect(await shown.evaluate('getComputedStyle(document.querySelector("h1")).color')).toBe('rgb(1, 2, 3)');
  }

  const isAnsweredByWorker = (shown = browser) =>
    shown.evaluate(`document.querySelector('script[src^="/-/sheet.js"]') !== null`);

  it('leads from an invitation to the first article in two taps', async () => {
    await readFirstArticle(browser, 'anna');
    await expect.poll(() => isAnsweredByWorker()).toBe(true);
  });

  it('shows a page of another set, and goes back, forward, and loads it again', async () => {
    await browser.click('#next');
    await titled('Tomorrow');
    await browser.back();
    await expectStory();
    await browser.forward();
    await titled('Tomorrow');
    await browser.reload();
    await titled('Tomorrow');
  });

  it('fetches keys that ran out by way of the vault, which is passed by who goes back', async () => {
    await go('/');
    await titled('Front');
    await browser.evaluate(CLEAR_KEYS);
    await browser.click('#story');
    await expectStory();
    await browser.back();
    await titled('Front');
  });

  it('fetches the keys of what a public page loads, while it is on show', async () => {
    await browser.evaluate(CLEAR_KEYS);
    await go('/cover.html');
    await titled('Cover');
    await expect.poll(() => browser.evaluate('document.images[0].naturalWidth').catch(String)).toBe(1);
  });

  it('plays a film and jumps in it, by parts that the worker answers', async () => {
    await go('/20/film.html');
    await titled('Film');
    const film = 'document.querySelector("video")';
    await browser.evaluate(`void Object.assign(${film}, { muted: true }).play()`);
    await expect.poll(() => browser.evaluate(`${film}.currentTime > 0.2`)).toBe(true);
    await browser.evaluate(`${film}.pause()`);
    await browser.evaluate(`void (${film}.currentTime = ${film}.duration - 1)`);
    await expect.poll(() => browser.evaluate(`${film}.seeking`)).toBe(false);
    expect(await browser.evaluate(`${film}.duration - ${film}.currentTime`)).toBeCloseTo(1, 1);
    const part =
      await browser.evaluate(`fetch('film.webm', { headers: { range: 'bytes=100-199' } }).then(async (answer) =>
      [answer.status, (await answer.arrayBuffer()).byteLength])`);
    expect(part).toEqual([206, 100]);
  });

  it('saves a download that the worker answers, but for WebKit', async () => {
    await go('/20/story.html');
    await expectStory();
    await browser.click('#table');
    const saved = name === 'WebKit' ? undefined : TABLE;
    await expect.poll(() => savedIn(downloads, 'tides.csv')).toEqual(saved);
  });

  it('opens without a network what was read', async () => {
    network.cut();
    try {
      await go('/20/story.html');
      await expectStory();
      await browser.reload();
      await expectStory();
      await go('/21/story.html');
      await titled('Tomorrow');
      await go('/20/unread.html');
      await expect
        .poll(() => browser.evaluate('document.querySelector("code")?.textContent'))
        .toBe('content-host-unreachable');
    } finally {
      network.mend();
    }
    await go('/20/unread.html');
    await titled('Unread');
  });

  it('shows nothing of an object that was altered', async () => {
    const file = fileOf(rig.publisher, '/20/forged.html');
    const good = rig.host.files.get(file) ?? new Uint8Array();
    rig.host.files.set(file, good.with(-1, (good.at(-1) ?? 0) ^ 1));
    try {
      await go('/20/forged.html');
      await expect.poll(() => browser.evaluate('document.querySelector("code")?.textContent')).toBe('block-digest');
      expect(await browser.evaluate('document.documentElement.outerHTML')).not.toContain('Ships');
    } finally {
      rig.host.files.set(file, good);
    }
  });

  it('removes everything when the reader signs out', async () => {
    await browser.open(`${rig.account}/-/account`);
    await browser.click('#sign-out button');
    await expect.poll(() => browser.evaluate('location.pathname').catch(String)).toBe('/-/sign-in');
    await browser.open(`${rig.documents}/-/style.css`);
    expect(await browser.evaluate(WHAT_IS_LEFT)).toEqual({ databases: 0, caches: 0, workers: 0 });
    await go('/20/story.html');
    const shown = 'document.querySelector("#sign-in") ? "sign-in" : location + document.body.innerText';
    await expect.poll(() => browser.evaluate(shown).catch(String)).toBe('sign-in');
  });

  it('reads in a private window too', async () => {
    const hidden = await open({ isPrivate: true });
    onTestFinished(() => hidden.close());
    await readFirstArticle(hidden, 'bert');
    await expect.poll(() => isAnsweredByWorker(hidden)).toBe(true);
  });

  it('shows the first page at once, as the server opens it, and the next one by the reader behind it', async () => {
    const shown = await open({ proxy: servedNetwork.port });
    onTestFinished(() => shown.close());
    const { account, documents, publisher } = served;
    await shown.open(invitationLink(await served.invite({ name: `cora of ${name}` }), account, publisher.root.id));
    await expect.poll(() => shown.evaluate('document.querySelector("#as")?.hidden').catch(String)).toBe(false);
    await shown.click('#here button');
    await titled('/index.html', shown);
    await expect.poll(() => shown.evaluate('document.querySelector("html > div") !== null')).toBe(true);
    served.host.requests.length = 0;
    await shown.open(`${documents}/second.html`);
    await titled('/second.html', shown);
    await expect.poll(() => isAnsweredByWorker(shown)).toBe(true);
    expect(served.host.requests.some(({ headers }) => headers.origin === documents)).toBe(true);
  });

  it('without service workers reads what the server decrypts', async () => {
    const old = await open({ withoutWorkers: true });
    onTestFinished(() => old.close());
    await readFirstArticle(old, 'carla');
    expect(await isAnsweredByWorker(old)).toBe(false);
  });
});

const WHAT_IS_LEFT = `(async () => ({
  databases: (await indexedDB.databases()).length,
  caches: (await caches.keys()).length,
  workers: (await navigator.serviceWorker.getRegistrations()).length,
}))()`;

/** Reads a saved file: each browser has its own folder. */
async function savedIn(folder: string, name: string): Promise<string | undefined> {
  const file = (await readdir(folder, { recursive: true })).find((path) => path.endsWith(name));
  return file && readFile(join(folder, file), 'utf8');
}
