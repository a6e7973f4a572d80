/** A site without a key server: published by the command line, carried by a host without any configuration, read in Chromium by links alone. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nowInSeconds } from '../../node-support/clock.ts';
import { keyPeriodOf } from '../../publisher/serverless/key-files.ts';
import { accessibilityProblems } from '../support/axe.ts';
import { launchChromium } from '../support/chromium.ts';
import { forFile } from '../support/for-file.ts';
import { openShadows, takePictures } from '../support/pages/browser.ts';
import {
  ARTICLE,
  ENDED,
  expectReading,
  handlesIn,
  OTHER_DAY,
  refusalOf,
  ServerlessSite,
} from '../support/pages/serverless-site.ts';
import { clearKeys } from '../support/pages/vault.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { IS_RELEASE, inRelease } from '../support/tier.ts';
import { runOnTerminal, runWispr } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const HOSTS = ['python', 'serve'] as const;
const PASSWORD = ' the tide waits for no one ';

const site = forFile(() => ServerlessSite.start('nginx', ...(IS_RELEASE ? HOSTS : [])));

it('an invitation leads to the site: pages, pictures, downloads, a film in which one can seek, an issue to keep', () =>
  site.readAt('nginx'));

describe('who may read', () => {
  it('keeps the secret out of the history, and no handle of a key gives its bytes', async () => {
    const page = await site.newPage();
    await page.goto('about:blank');
    const secret = site.linkAt('ada').split('#i=')[1] ?? '';
    const seen: string[] = [];
    page.on('request', (request) => seen.push(request.url()));
    page.on('framenavigated', (frame) => seen.push(frame.url()));
    await page.goto(site.linkAt('ada'));
    await page.waitForURL(`${site.originOf()}/`);
    await expectReading(page);
    expect(seen.filter((url) => url.includes(secret))).toEqual([site.linkAt('ada')]); // the typed address
    const stored = await handlesIn(page);
    expect(stored.length).toBeGreaterThan(3);
    expect(new Set(stored.map(({ extractable }) => extractable))).toEqual(new Set([false]));
    await page.goBack();
    expect(page.url()).toBe('about:blank');
    await page.context().close();
  });

  it('attack 151: at the address of a gift, of which there are none, nothing of a host is shown', async () => {
    const page = await site.newPage();
    await page.goto(site.linkAt('ben'));
    await page.waitForURL(`${site.originOf()}/`);
    await expectReading(page);
    const file = join(site.out, OTHER_DAY);
    const before = await readFile(file);
    await writeFile(file, '<!doctype html><title>Forged</title><h1>Forged</h1>');
    await page.goto(`${site.originOf()}${OTHER_DAY}?wispr-gift`);
    await page.waitForSelector('h1');
    await expect.poll(() => page.title()).toBe('You have no key for this page');
    await writeFile(file, before);
    await page.context().close();
  });

  inRelease(() => {
    it('without an invitation, a teaser leads to the page that takes one', async () => {
      const page = await site.newPage();
      const rest = '?from=newsletter&a=b#high-water';
      await page.goto(site.originOf() + ARTICLE + rest);
      expect(await page.getAttribute('.go', 'href')).toBe(`${site.originOf()}/-/open.html#to=${ARTICLE}${rest}`);
      await takePictures(page, 'serverless-teaser');
      await page.click('.go');
      await page.waitForSelector('#ask:not([hidden])');
      expect(await page.textContent('h1:visible')).toBe('Open the link of your invitation');
      expect(await accessibilityProblems(page)).toEqual([]);
      await takePictures(page, 'serverless-no-invitation');
      await page.fill('#answer', 'https://elsewhere.example/');
      await page.click('#ask button');
      expect(await refusalOf(page)).toBe(ENDED);
      await page.fill('#answer', `Here you are: <${site.linkAt('ada')}>. Bye `);
      await page.click('#ask button');
      await page.waitForURL(site.originOf() + ARTICLE + rest);
      await expectReading(page);
      await page.context().close();
    });
  });
});

inRelease(() => {
  it('an invitation takes the place of workers that the site had before, and reading goes on where its own is removed', async () => {
    const page = await site.newPage();
    const script =
      'onfetch = (event) => event.request.url.includes("/-/") || event.respondWith(new Response("former"))';
    const paths = ['former.js', 'front/former.js'].map((path) => join(site.out, path));
    for (const path of paths) await writeFile(path, script);
    await page.goto(`${site.originOf()}/style.css`);
    await page.evaluate(async () => {
      for (const path of ['/front/former.js', '/former.js']) await navigator.serviceWorker.register(path);
    });
    for (const path of paths) await rm(path);
    await page.goto(site.linkAt('ada'));
    await page.waitForURL(`${site.originOf()}/`);
    await expectReading(page);
    await page.goto(`${site.originOf()}/-/style.css`);
    const workers = () =>
      navigator.serviceWorker.getRegistrations().then((all) => all.map(({ active }) => active?.scriptURL));
    expect(await page.evaluate(workers)).toEqual([`${site.originOf()}/wispr-worker.js`]);
    await page.evaluate(() => navigator.serviceWorker.getRegistration().then((found) => found?.unregister()));
    await page.goto(site.originOf() + ARTICLE);
    await page.click('.go');
    await page.waitForURL(site.originOf() + ARTICLE);
    await expectReading(page);
    await page.context().close();
  });

  it('keys that end are not fetched again with an invitation that was removed; until then they open', async () => {
    const [page, late] = [await site.newPage(), await site.newPage()];
    await page.goto(site.linkAt('dora'));
    await page.waitForURL(`${site.originOf()}/`);
    await site.putKeysOf(nowInSeconds() - 120 * 86_400);
    await late.goto(site.linkAt('dora'));
    await late.waitForURL(`${site.originOf()}/`);
    const files = await readdir(join(site.out, '-/keys'));
    const { ends } = JSON.parse(await site.wispr('invite', 'dora', '--remove', '--json'));
    expect(ends).toBe(keyPeriodOf(nowInSeconds()).notAfter);
    await site.publish();
    expect((await readdir(join(site.out, '-/keys'))).length).toBe(files.length - 1);
    await page.goto(site.originOf() + ARTICLE);
    await expectReading(page);
    await late.goto(site.originOf() + OTHER_DAY);
    expect(await refusalOf(late)).toBe(ENDED);
    await takePictures(late, 'serverless-ended');
    const stranger = await site.newPage();
    await stranger.goto(site.linkAt('dora'));
    expect(await refusalOf(stranger)).toBe(ENDED);
    await Promise.all([page, late, stranger].map((each) => each.context().close()));
  });

  it('attack 72: a host that is not honest cannot give out a key file that it has changed, or exchange two', async () => {
    const folder = join(site.out, '-/keys');
    const before = await Promise.all(
      (await readdir(folder)).map(async (name) => ({ name, bytes: await readFile(join(folder, name)) })),
    );
    const page = await site.newPage();
    for (const { name, bytes } of before) await writeFile(join(folder, name), bytes.with(2000, (bytes[2000] ?? 0) ^ 1));
    await page.goto(site.linkAt('mallory'));
    const changed = 'This invitation was changed on its way to you, so it is not opened.';
    expect(await refusalOf(page)).toBe(changed);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'serverless-changed');
    for (const [index, { name }] of before.entries())
      await writeFile(join(folder, name), before.at(index - 1)?.bytes ?? '');
    const other = await site.newPage();
    await other.goto(site.linkAt('mallory'));
    expect(await refusalOf(other)).toBe(changed);
    await other.context().close();
    await site.publish();
    await page.click('#act');
    await page.waitForURL(`${site.originOf()}/`);
    await expectReading(page);
    await page.context().close();
  });
});

inRelease(() => {
  it.each(HOSTS)(
    'an invitation opened at %s leads to the site: pages, pictures, downloads, and a film in which one can seek',
    (host) => site.readAt(host),
  );

  describe('who may read', () => {
    it('two friends in two browsers read what each was invited to', async () => {
      const [ada, ben] = [await site.newPage(), await site.newPage()];
      await openShadows(ada);
      await ada.goto(site.linkAt('ada'));
      await ben.goto(`${site.linkAt('ben')}&to=${encodeURIComponent(ARTICLE)}`);
      await ben.waitForURL(site.originOf() + ARTICLE);
      await expectReading(ben);
      await ada.goto(site.originOf() + OTHER_DAY);
      await expectReading(ada);
      await ada.click('[aria-label="About this page"]');
      await ada.waitForSelector('dialog >> button:has-text("Keep this issue")');
      expect(await ada.isVisible('dialog >> a:has-text("Saved pages")')).toBe(true);
      expect(await ada.isVisible('dialog >> a:has-text("Your account")')).toBe(false);
      await ben.goto(site.originOf() + OTHER_DAY);
      await ben.waitForURL(site.originOf() + OTHER_DAY); // a page that looks for the key comes between
      expect(await ben.title()).toBe('You have no key for this page');
      await ada.goto(`${site.originOf()}/-/open.html#to=//elsewhere.example/`);
      await ada.waitForURL(`${site.originOf()}/`);
      await Promise.all([ada, ben].map((page) => page.context().close()));
    });

    it("another's link shortens no key, and takes the place of an invitation only if it gives more", async () => {
      const [page, other] = [await site.newPage(), await site.newPage()];
      await page.goto(site.linkAt('ada'));
      await page.waitForURL(`${site.originOf()}/`);
      const stored = await handlesIn(page);
      for (const [each, name] of [
        [page, 'ben'],
        [other, 'ben'],
        [other, 'ada'],
      ] as const) {
        await each.goto(site.linkAt(name));
        await each.waitForURL(`${site.originOf()}/`);
        if (each === other && name === 'ben') expect(await handlesIn(each)).not.toEqual(stored);
        else expect(await handlesIn(each)).toEqual(stored);
      }
      await Promise.all([page, other].map((each) => each.context().close()));
    });

    it('a shared password opens, and a wrong one does not', async () => {
      const answers = [
        ['passphrase', `${PASSPHRASE}\r`],
        ['a password for the class', `${PASSWORD}\r`],
        ['again', `${PASSWORD}\r`],
      ] as const;
      const { code, shown } = await runOnTerminal(['invite', 'the class', '--password'], answers, {
        cwd: site.directory,
      });
      expect([code, shown]).toEqual([0, expect.stringContaining('can try passwords on their own computer')]);
      expect(shown).not.toContain(PASSWORD.trim());
      site.links.set('the class', /http:\S+#p=[\w-]{22}(?=\s)/.exec(shown)?.[0] ?? '');
      await site.publish();
      const page = await site.newPage();
      await page.goto(site.linkAt('the class'));
      await page.waitForSelector('#ask:not([hidden])');
      await takePictures(page, 'serverless-password');
      await page.fill('#answer', 'a wrong password');
      await page.click('#ask button');
      expect(await refusalOf(page)).toBe('This password opens nothing: it is wrong, or the invitation has ended.');
      expect(await accessibilityProblems(page)).toEqual([]);
      await takePictures(page, 'serverless-wrong-password');
      await page.fill('#answer', PASSWORD);
      await page.click('#ask button');
      await page.waitForURL(`${site.originOf()}/`);
      await expectReading(page);
      await page.context().close();
    });

    it('a browser without service workers says so, and keeps the link for another one', async () => {
      const insecure = await launchChromium('--host-resolver-rules=MAP friends.example 127.0.0.1');
      const page = await insecure.newPage();
      const link = site.linkAt('ada').replace('localhost', 'friends.example');
      await page.goto(link);
      expect(await refusalOf(page)).toBe('This browser cannot read here: open the link in another one.');
      expect(page.url()).toBe(link);
      await takePictures(page, 'serverless-unsupported');
      await insecure.close();
    });
  });

  it('keys that end are fetched anew without any tap, once the publisher has published again', async () => {
    const page = await site.newPage();
    await site.putKeysOf(nowInSeconds() - 120 * 86_400);
    await page.goto(`${site.linkAt('erin')}&to=${encodeURIComponent(ARTICLE)}`);
    await page.waitForURL(site.originOf() + ARTICLE);
    expect(await page.title()).toBe('Your key for this page is not valid now');
    await takePictures(page, 'serverless-key-ended');
    await site.publish();
    await page.goto(site.originOf() + OTHER_DAY);
    await expectReading(page);
    await page.goto(site.originOf() + ARTICLE);
    await expectReading(page);
    // Keys of what a page loads are fetched, too, and the page stays.
    await page.goto(`${site.originOf()}/about.html`);
    await clearKeys(page);
    expect(await page.evaluate(`fetch('${ARTICLE}').then(({ status }) => status)`)).toBe(200);
    await page.context().close();
  });

  it('without a network, what was read opens again, and an invitation says what is missing', async () => {
    const [page, stranger] = [await site.newPage(), await site.newPage()];
    await page.goto(`${site.linkAt('ada', 'python')}&to=${encodeURIComponent(ARTICLE)}`);
    await page.waitForURL(site.originOf('python') + ARTICLE);
    await expectReading(page);
    await stranger.goto(`${site.originOf('python')}/-/open.html`);
    await stranger.waitForSelector('#ask:not([hidden])');
    await site.hosts.get('python')?.stop();
    await page.goto('about:blank');
    await page.goto(site.originOf('python') + ARTICLE);
    await page.waitForSelector('html[data-reader="ready"]');
    await stranger.fill('#answer', site.linkAt('ada', 'python'));
    await stranger.click('#ask button');
    expect(await refusalOf(stranger)).toBe('This page could not be opened: check your connection.');
    await Promise.all([page, stranger].map((each) => each.context().close()));
  });

  it('connects no Reader, and says where the site is read instead', async () => {
    const home = temporaryFolder();
    const env = { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: home };
    for (const link of [site.originOf(), site.linkAt('ada')]) {
      const bound = await runWispr(['bind', link, '--yes', '--allow-local', '127.0.0.1'], { cwd: home, env });
      expect(bound).toMatchObject({ code: 2, stderr: expect.stringContaining('[read-in-browser]') });
      expect(bound.stderr).not.toContain(link.split('#i=')[1] ?? '#i=');
    }
  });
});
