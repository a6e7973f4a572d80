/** The first page in Chromium, which the reading site opens, and the reader that is installed behind it. docs/spec/web-reader.md, "The first page" */
import type { Cookie, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { x25519KeyPair, x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { readWebReader } from '../../node-support/web-reader-files.ts';
import { forFile } from '../support/for-file.ts';
import { openShadows } from '../support/pages/browser.ts';
import { CONTENT, heading, keptKeys, readerHasCome, startVault, VAULT } from '../support/pages/vault.ts';
import { publish, setOf } from '../support/publisher-with-sets.ts';
import { inRelease } from '../support/tier.ts';

const vault = forFile(() => startVault('server'));

let session: Cookie[];
beforeAll(async () => {
  const page = await vault.rig.newPage();
  await vault.joinAs(page, 'anna');
  session = await page.context().cookies([VAULT, CONTENT]);
});

/** A page of a browser that is signed in, and has nothing else. */
async function signedIn(): Promise<Page> {
  const page = await vault.newPage();
  await page.context().addCookies(session);
  await openShadows(page);
  return page;
}

it('an invitation is two answers away from the front page, which can be loaded again and gone back to', async () => {
  const page = await vault.newPage();
  const answers: string[] = [];
  const sizes: Promise<number>[] = [];
  page.on('response', (response) => {
    const request = response.request();
    if (request.frame() === page.mainFrame() && request.resourceType() !== 'image')
      answers.push(`${response.status()} ${request.method()} ${response.url().replace(/[?#].*/, '')}`);
    if (request.isNavigationRequest()) sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await page.goto(await vault.invite('frida'));
  await page.waitForSelector('#as:not([hidden])');
  expect(answers.splice(0)).toEqual([`200 GET ${VAULT}/-/join`, `200 POST ${VAULT}/-/invitation`]);
  expect(await sizes[0]).toBeLessThan(5000);
  await page.click('text=Read in this browser');
  await heading(page, 'Front');
  expect(answers.splice(0, 2)).toEqual([`200 POST ${VAULT}/-/join`, `200 POST ${CONTENT}/`]);
  expect([page.url(), await page.evaluate('document.referrer')]).toEqual([`${CONTENT}/`, `${VAULT}/`]);
  expect((await page.reload())?.request().method()).toBe('GET');
  await page.goto(`${CONTENT}/letter.html`);
  await heading(page, 'Letter');
  expect((await page.goBack())?.request().method() ?? 'GET').toBe('GET');
  await heading(page, 'Front');
});

it('the first page comes from the server, and the next one from the caches by the reader behind it', async () => {
  const page = await signedIn();
  vault.rig.host.requests.length = 0;
  const first = await page.goto(`${CONTENT}/letter.html#end`);
  expect([first?.status(), first?.fromServiceWorker()]).toEqual([200, false]);
  await heading(page, 'Letter');
  await readerHasCome(page);
  expect(page.url()).toBe(`${CONTENT}/letter.html#end`);
  const { ids, extractable } = await keptKeys(page);
  expect([ids.sort(), extractable]).toEqual([
    ['day-1', 'day-2'].map((name) => setOf(vault.rig.publisher, name).id).sort(),
    false,
  ]);
  await page.click('[aria-label="About this page"]');
  await page.waitForSelector('text=read.news.example checked this first page for you');
  const byReader = () => vault.rig.host.requests.filter(({ headers }) => headers.origin === CONTENT);
  // The next page has it, too.
  await expect
    .poll(() =>
      byReader()
        .map(({ url }) => url)
        .join(),
    )
    .toContain('letter.css');
  vault.rig.host.requests.length = 0;
  const second = await page.goto(`${CONTENT}/second.html`);
  await heading(page, 'Second');
  expect(second?.fromServiceWorker()).toBe(true);
  expect(vault.rig.host.requests.map(({ url }) => url).join()).toContain('second');
  const logged = vault.rig.log().length;
  await page.goto(`${VAULT}/letter.html`);
  await heading(page, 'Letter');
  // The form that brings a session goes no further than the reader here.
  const asked = vault.rig
    .log()
    .slice(logged)
    .matchAll(/"method":"(\w+)","route":"([^"]+)"/g);
  const routes = Array.from(asked, ([, method, route]) => `${method} ${route}`);
  expect(routes.filter((route) => /document|keys|key-requests/.test(route))).toEqual(['GET document']);
});

it('a page that is still loading when the reader comes by another tab has it too', async () => {
  const page = await signedIn();
  const slow = await page.context().newPage();
  await openShadows(slow);
  const held = Promise.withResolvers<void>();
  await slow.route('**/letter.css', (route) => held.promise.then(() => route.continue()));
  await slow.goto(`${CONTENT}/letter.html`, { waitUntil: 'commit' });
  await slow.waitForSelector('h1', { state: 'attached' });
  await page.goto(`${CONTENT}/`);
  await readerHasCome(page);
  held.resolve();
  await readerHasCome(slow);
});

it('attack 148: what does not pass the checks of a reader is shown on no first page either', async () => {
  const page = await signedIn();
  const { files } = vault.rig.host;
  const [path, object] = [...files].find(([name]) => /letter.*\.protected$/.test(name)) ?? ['', Buffer.alloc(0)];
  const changed = Buffer.from(object);
  changed[changed.length - 20] = (changed[changed.length - 20] ?? 0) ^ 1;
  files.set(path, changed);
  try {
    await page.goto(`${CONTENT}/letter.html`);
    await page.waitForSelector('code:text-is("block-digest")', { state: 'attached' });
    expect(await page.content()).not.toContain('Letter</h1>');
  } finally {
    files.set(path, object);
  }
});

inRelease(() => {
  it('the first page opens again without a network, as every page that was opened', async () => {
    const page = await signedIn();
    await page.goto(`${CONTENT}/letter.html`);
    await readerHasCome(page);
    const kept = `caches.open('wispr-objects').then((cache) => cache.keys()).then((all) => all.map(({ url }) => url).join())`;
    await expect.poll(() => page.evaluate(kept)).toMatch(/letter\.html/);
    await page.context().setOffline(true);
    expect((await page.reload())?.fromServiceWorker()).toBe(true);
    await heading(page, 'Letter');
  });

  it('attack 96: a published script gets no key by a frame of the vault, with the worker or without it', async () => {
    const page = await signedIn();
    await page.goto(`${CONTENT}/evil.html`);
    await readerHasCome(page);
    for (const isWorkerThere of [true, false]) {
      const key = toBase64url(await x25519PublicKey(await x25519KeyPair(true)));
      const address = `${VAULT}/-/keys?silent=yes#${new URLSearchParams({ key, to: '/' })}`;
      const seen = await page.evaluate(`(async () => {
        const other = document.body.appendChild(document.createElement('iframe'));
        await new Promise((resolve) => Object.assign(other, { onload: resolve, src: '/app.js' }));
        const bare = other.contentWindow.navigator.serviceWorker;
        if (!${isWorkerThere}) for (const each of await bare.getRegistrations()) await each.unregister();
        const frame = document.body.appendChild(document.createElement('iframe'));
        const texts = [];
        frame.onload = () => {
          try { texts.push(frame.contentDocument.documentElement.outerHTML); } catch (error) { texts.push(String(error)); }
        };
        frame.src = ${JSON.stringify(address)};
        await new Promise((resolve) => setTimeout(resolve, 1500));
        return texts.join();
      })()`);
      expect(seen).not.toMatch(/sealed|data-key/);
    }
    const posted = vault.rig.log().matchAll(/"method":"POST","route":"\/-\/keys","status":(\d+)/g);
    expect(Array.from(posted, ([, status]) => status)).toEqual(['403']);
  });

  it('attack 97: what a page has in it of others loads no script by the one in front, under a policy that trusts what that one loads', async () => {
    const { content = '' } = readWebReader()?.first ?? {};
    await publish(vault.rig.publisher, vault.rig.host, {
      path: '/comments.html',
      content: `<!doctype html><title>C</title><base href="https://evil.example/"><h1>Comments</h1>${[
        'https://evil.example/x.js',
        '/-/x.js',
      ]
        .map((src) => `<script data-src="${src}">${content}</script>`)
        .join('')}`,
      mediaType: 'text/html',
      headers: { 'content-security-policy': "script-src 'nonce-none' 'strict-dynamic'" },
    });
    const page = await signedIn();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${CONTENT}/comments.html`);
    await readerHasCome(page);
    await expect.poll(() => asked.join()).toContain('/-/sheet.js');
    expect(asked.filter((url) => url.includes('evil.example'))).toEqual([]);
  });

  it('a page whose own policy permits nothing else starts the reader, which the next page shows', async () => {
    const page = await signedIn();
    await page.goto(`${CONTENT}/closed.html`);
    await expect.poll(() => page.evaluate(`document.querySelector('iframe')`)).toBe(null);
    expect((await page.goto(`${CONTENT}/letter.html`))?.fromServiceWorker()).toBe(true);
    await heading(page, 'Letter');
  });

  it('a page that permits no frame in its text has the next one opened by the reader itself', async () => {
    const page = await signedIn();
    await page.goto(`${CONTENT}/frameless.html`);
    await heading(page, 'Frameless');
    await expect
      .poll(async () => (await page.context().cookies(CONTENT)).map(({ name }) => name))
      .toContain('wispr-strictly');
    await page.goto(`${CONTENT}/letter.html`);
    await heading(page, 'Letter');
    expect((await page.reload())?.fromServiceWorker()).toBe(true);
  });
});
