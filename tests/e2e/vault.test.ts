/** The vault, the bounce and invitations in Chromium, over HTTPS and with hosts of their own: docs/spec/web-reader.md. */
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { x25519KeyPair, x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { DESCRIPTOR_TARGET } from '../../core/publication/names.ts';
import { overview } from '../../keyserver/operators/overview.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { invitationLink } from '../../keyserver/readers/invitations.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { writeWebReader } from '../../scripts/build-web-reader.ts';
import { accessibilityProblems } from '../support/axe.ts';
import { makeCertificate } from '../support/certificates.ts';
import { launchChromium } from '../support/chromium.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { type Rig, startRig, temporaryFolder } from '../support/keyserver-rig.ts';
import { publish, setOf } from '../support/publisher-with-sets.ts';
import { inRelease } from '../support/tier.ts';
import { takePictures } from './browser.ts';

const [KEYS, READ, PAGES] = ['keys.news.example', 'read.news.example', 'pages.read.news.example'];
const [VAULT, CONTENT] = [`https://${READ}`, `https://${PAGES}`];
const HTML = 'text/html; charset=utf-8';

let rig: Rig;
let browser: Browser;
let elsewhere: Server;
/** A page of another site. */
let foreign: string;

beforeAll(async () => {
  await writeWebReader();
  const folder = temporaryFolder();
  const { key, cert } = await makeCertificate(
    folder,
    [KEYS, READ, PAGES].map((host) => `DNS:${host}`),
  );
  const tls = { certificate: join(folder, 'chain.pem'), key: join(folder, 'leaf.key') };
  await writeFile(tls.certificate, cert);
  await writeFile(tls.key, key);
  const listen = { host: '127.0.0.1', port: 0 };
  const reading = { origin: VAULT, listen, tls, documents: { origin: CONTENT, listen, tls, inBrowser: true } };
  rig = await startRig({ config: { dev: false, origin: `https://${KEYS}`, tls, reading } });
  const { publisher, host, server } = rig;
  const { descriptor } = (await readProviderRow(server.state.database)) ?? {};
  if (descriptor) publisher.publication.wholeFiles.set(DESCRIPTOR_TARGET, descriptor);
  for (const [path, content, mediaType, set] of [
    ['/index.html', '<title>Front</title><h1>Front</h1><a href="letter.html">Letter</a>', HTML, undefined],
    ['/evil.html', '<title>Evil</title><body><h1>Evil</h1>', HTML, undefined],
    [
      '/letter.html',
      '<title>Letter</title><h1>Letter</h1><p style="height: 3000px"></p><h2 id="end">End</h2>',
      HTML,
      'day-1',
    ],
    ['/second.html', '<title>Second</title><h1>Second</h1>', HTML, 'day-2'],
  ] as const)
    await publish(publisher, host, { path, content, mediaType, ...(set && { set }) });
  elsewhere = createServer((_request, response) =>
    response.setHeader('content-type', HTML).end('<title>Elsewhere</title>'),
  );
  foreign = `http://localhost:${await listenOnLoopback(elsewhere)}`;
  const { keyServer, reading: read, documents } = server.ports;
  const rules = `MAP ${KEYS} 127.0.0.1:${keyServer}, MAP ${READ} 127.0.0.1:${read}, MAP ${PAGES} 127.0.0.1:${documents}`;
  browser = await launchChromium('--ignore-certificate-errors', `--host-resolver-rules=${rules}`);
});
afterAll(async () => {
  await browser?.close();
  await rig?.close();
  if (elsewhere) await closeServer(elsewhere);
});

/** A page of a browser that has never been here. */
async function newPage(): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  return { context, page: await context.newPage() };
}

async function invite(name: string, sets?: readonly string[]): Promise<string> {
  return invitationLink(await rig.invite({ name, ...(sets && { sets }) }), `https://${KEYS}`, rig.publisher.root.id);
}

/** Opens the link of an invitation, and takes the second tap. */
async function joinAs(page: Page, name: string, sets?: readonly string[]): Promise<void> {
  await page.goto(await invite(name, sets));
  await page.click('text=Read in this browser');
  await page.waitForSelector('text=Front');
}

const heading = (page: Page, text: string) => page.waitForSelector(`h1:text-is("${text}")`);
const devicesOf = async (name: string) =>
  (await overview(rig.server.state)).subscribers.find((subscriber) => subscriber.name === name)?.devices ?? [];

/** The ids of the set keys that the content origin keeps, and whether any can be extracted. */
function keptKeys(page: Page): Promise<{ ids: string[]; extractable: boolean }> {
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
async function contentKeys(context: BrowserContext): Promise<{ ids: string[]; extractable: boolean }> {
  const page = await context.newPage();
  await page.goto(`${CONTENT}/-/style.css`);
  const names = (await page.evaluate('indexedDB.databases()')) as unknown[];
  const kept = names.length === 0 ? { ids: [], extractable: false } : await keptKeys(page);
  await page.close();
  return kept;
}

/** As when they have run out. @param page - at the content origin */
async function clearKeys(page: Page): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const open = indexedDB.open('wispr');
    open.onsuccess = () => {
      const change = open.result.transaction(['keys', 'state'], 'readwrite');
      change.objectStore('keys').clear();
      change.objectStore('state').delete('answered');
      change.oncomplete = () => resolve(open.result.close());
    };
  })`);
}

describe('an invitation', () => {
  it('leads from its link to the first article in two taps, with nothing typed', async () => {
    const { context, page } = await newPage();
    await page.goto(await invite('anna'));
    expect(page.url()).toBe(`${VAULT}/-/join`);
    await page.waitForSelector('#as:not([hidden])');
    expect(await page.textContent('#invited .lead')).toContain('news.example as anna');
    expect(await page.isVisible('#password')).toBe(false);
    expect(await page.inputValue('#link')).toMatch(
      new RegExp(`^https://${KEYS}#[\\w-]{19}\\.${rig.publisher.root.id}$`),
    );
    await page.click('text=Read in this browser');
    await heading(page, 'Front');
    await page.click('text=Letter');
    await heading(page, 'Letter');
    expect(page.url()).toBe(`${CONTENT}/letter.html`);
    expect(await keptKeys(page)).toEqual({
      ids: expect.arrayContaining([setOf(rig.publisher, 'day-1').id, setOf(rig.publisher, 'day-2').id]),
      extractable: false,
    });
    expect(await devicesOf('anna')).toHaveLength(1);
    await context.close();
  });

  inRelease(() => {
    it('keeps what was wanted, with query and place, through the code that is typed', async () => {
      const { context, page } = await newPage();
      await page.goto(`${VAULT}/letter.html?page=2#end`);
      await page.waitForSelector('text=Sign in to read');
      await page.click('text=type its code');
      await page.fill('#code', (await rig.invite({ name: 'bert' })).code.toLowerCase());
      await page.fill('#password', 'correct horse battery');
      await page.click('form#join button');
      await heading(page, 'Letter');
      expect(page.url()).toBe(`${CONTENT}/letter.html?page=2#end`);
      expect(await page.evaluate('scrollY')).toBeGreaterThan(1000);
      await context.close();
    });

    it('is read where the browser cannot give back an X25519 key that it stored, as WebKit', async () => {
      const { context, page } = await newPage();
      await page.addInitScript(`structuredClone = () => { throw new DOMException('', 'DataCloneError'); }`);
      await joinAs(page, 'gesa');
      await page.click('text=Letter');
      await heading(page, 'Letter');
      expect(await keptKeys(page)).toMatchObject({ extractable: false });
      await context.close();
    });

    it('is passed by who goes back from the article', async () => {
      const { context, page } = await newPage();
      await joinAs(page, 'hugo');
      await page.goto(`${CONTENT}/index.html`);
      await heading(page, 'Front');
      await clearKeys(page);
      const visited: string[] = [];
      page.on('framenavigated', (frame) => void visited.push(new URL(frame.url()).origin));
      await page.evaluate(`location.href = '/letter.html'`);
      await heading(page, 'Letter');
      expect(visited).toContain(VAULT);
      await page.goBack();
      await heading(page, 'Front');
      await context.close();
    });

    it('keeps it through signing in', async () => {
      const { context, page } = await newPage();
      await page.goto(`${CONTENT}/letter.html?page=2#end`);
      await page.waitForSelector('text=Sign in to read');
      await page.fill('#name', 'bert');
      await page.fill('#password', 'correct horse battery');
      await page.click('form#sign-in button');
      await heading(page, 'Letter');
      expect(page.url()).toBe(`${CONTENT}/letter.html?page=2#end`);
      await context.close();
    });

    it('that was used says so, and offers no way on', async () => {
      const { context, page } = await newPage();
      const link = await invite('carla');
      await page.goto(link);
      await page.click('text=Read in this browser');
      await heading(page, 'Front');
      await page.goto('about:blank');
      await page.goto(link);
      await page.waitForSelector('#refused:not([hidden])');
      expect(await page.isVisible('text=Read in this browser')).toBe(false);
      await context.close();
    });

    it('has pages on which axe finds nothing', async () => {
      const { context, page } = await newPage();
      await page.setViewportSize({ width: 360, height: 740 });
      await page.goto(await invite('dora'));
      await page.waitForSelector('#as:not([hidden])');
      await page.click('summary');
      expect(await accessibilityProblems(page)).toEqual([]);
      await takePictures(page, 'vault-invitation');
      await page.click('text=Read in this browser');
      await heading(page, 'Front');
      await page.goto(`${CONTENT}/letter.html`);
      await heading(page, 'Letter');
      await page.goto(`${VAULT}/-/account`);
      expect(await page.textContent('#devices')).toContain('This browser');
      expect(await accessibilityProblems(page)).toEqual([]);
      await takePictures(page, 'vault-account');
      await context.close();
    });
  });
});

describe('two readers in two profiles', () => {
  it('get the keys of what each may read', async () => {
    const [one, other] = [await newPage(), await newPage()];
    await joinAs(one.page, 'emil', ['day-1']);
    await joinAs(other.page, 'frieda', ['day-2']);
    for (const [{ page }, path, title] of [
      [one, '/letter.html', 'Letter'],
      [other, '/second.html', 'Second'],
    ] as const) {
      await page.goto(CONTENT + path);
      await heading(page, title);
    }
    expect((await keptKeys(one.page)).ids).toEqual([setOf(rig.publisher, 'day-1').id]);
    expect((await keptKeys(other.page)).ids).toEqual([setOf(rig.publisher, 'day-2').id]);
    await one.page.goto(`${CONTENT}/second.html`);
    await one.page.waitForSelector('text=not-entitled', { state: 'attached' });
    expect(await one.page.getAttribute('a.b', 'href')).toBe(`${VAULT}/-/account`);
    for (const { context } of [one, other]) await context.close();
  });

  inRelease(() => {
    it('in one browser, one after the other, have a device each', async () => {
      const { context, page } = await newPage();
      await joinAs(page, 'gerda');
      await page.goto(`${CONTENT}/letter.html`);
      await heading(page, 'Letter');
      await page.goto(`${VAULT}/-/account`);
      await page.click('text=Sign out');
      await page.waitForSelector('text=Sign in to read');
      await joinAs(page, 'hans');
      await page.goto(`${CONTENT}/letter.html`);
      await heading(page, 'Letter');
      expect([(await devicesOf('gerda')).length, (await devicesOf('hans')).length]).toEqual([1, 1]);
      await context.close();
    });
  });
});

describe('a device', () => {
  inRelease(() => {
    it('attack 47: gets no keys once the operator has ended the subscription', async () => {
      const { context, page } = await newPage();
      await joinAs(page, 'ida');
      await page.goto(`${VAULT}/-/account`);
      const session = await context.cookies(VAULT);
      await revokeSubscriber(rig.server.state, 'ida');
      await page.goto(`${CONTENT}/letter.html`);
      await page.waitForSelector('text=Sign in to read');
      expect(session.map(({ name }) => name)).toContain('__Host-wispr');
      expect((await contentKeys(context)).ids).toEqual([]);
      await context.close();
    });

    it('attack 47: of a subscriber who can still sign in gets none either, and the page says why', async () => {
      const { context, page } = await newPage();
      await page.goto(`${VAULT}/-/join#${(await rig.invite({ name: 'jens' })).code}`);
      await page.click('text=Read in this browser');
      await heading(page, 'Front');
      await page.goto(`${VAULT}/-/account`);
      await page.fill('#password', 'correct horse battery');
      await page.click('form#set-password button');
      await page.waitForSelector('text=You are signed in as');
      await page.goto(`${CONTENT}/letter.html`);
      await heading(page, 'Letter');
      await revokeSubscriber(rig.server.state, 'jens');
      await clearKeys(page);
      await page.goto(`${CONTENT}/letter.html`);
      await page.waitForSelector('text=Sign in to read');
      await page.fill('#name', 'jens');
      await page.fill('#password', 'correct horse battery');
      await page.click('form#sign-in button');
      await page.waitForSelector('#problem:not([hidden])');
      expect(await page.textContent('h1')).toBe('The publisher has ended your access');
      expect(await page.textContent('#problem')).toContain('new invitation');
      await takePictures(page, 'vault-withdrawn');
      expect((await contentKeys(context)).ids).toEqual([]);
      expect((await devicesOf('jens')).filter(({ revoked }) => revoked === null)).toEqual([]);
      await context.close();
    });
  });

  it('that is removed in the account is signed out, and a new sign-in makes another one', async () => {
    const [one, other] = [await newPage(), await newPage()];
    await joinAs(one.page, 'kora');
    await one.page.goto(`${CONTENT}/letter.html`);
    await heading(one.page, 'Letter');
    await joinAs(other.page, 'kora');
    await other.page.goto(`${VAULT}/-/account`);
    await other.page.click('text=Remove');
    await other.page.waitForSelector('#devices', { state: 'detached' });
    await clearKeys(one.page);
    await one.page.goto(`${CONTENT}/letter.html`);
    await one.page.waitForSelector('text=Sign in to read');
    await joinAs(one.page, 'kora');
    await one.page.goto(`${CONTENT}/letter.html`);
    await heading(one.page, 'Letter');
    expect((await devicesOf('kora')).filter(({ revoked }) => revoked === null).length).toBe(1);
    expect((await devicesOf('kora')).length).toBe(2);
    for (const { context } of [one, other]) await context.close();
  });

  inRelease(() => {
    it('that is forgotten leaves nothing: no device, no session, no keys at either origin', async () => {
      const { context, page } = await newPage();
      await joinAs(page, 'lena');
      await page.goto(`${CONTENT}/letter.html`);
      await heading(page, 'Letter');
      await page.goto(`${VAULT}/-/account`);
      await page.click('text=Forget this browser');
      await page.waitForURL(`${VAULT}/-/sign-in?left=1`);
      expect(await page.evaluate('indexedDB.databases()')).toEqual([]);
      expect((await context.cookies()).filter(({ name }) => name === '__Host-wispr')).toEqual([]);
      expect((await devicesOf('lena')).map(({ revoked }) => revoked === null)).toEqual([false]);
      await page.goto(`${VAULT}/-/style.css`);
      await page.goto(`${CONTENT}/-/style.css`);
      expect(await page.evaluate('indexedDB.databases()')).toEqual([]);
      expect(await page.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)')).toBe(0);
      await context.close();
    });
  });
});

describe('the vault hands keys', () => {
  /** A key pair of an attacker, and its public key as it stands in an address. */
  async function attackersKey(): Promise<string> {
    return toBase64url(await x25519PublicKey(await x25519KeyPair(true)));
  }

  it('attack 96: to the origin of its own configuration only, whatever a page of another site asks for', async () => {
    const { context, page } = await newPage();
    await joinAs(page, 'mara');
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(new URL(request.url()).origin));
    for (const to of [
      `${foreign}/`,
      `//${new URL(foreign).host}/`,
      '/\\evil.example',
      'javascript:alert(1)',
      '/-/leave',
    ]) {
      await page.goto(foreign);
      asked.length = 0;
      const fragment = new URLSearchParams({ key: await attackersKey(), to });
      await page.evaluate(`location.href = ${JSON.stringify(`${VAULT}/-/keys#${fragment}`)}`);
      await page.waitForURL(`${CONTENT}/-/keys**`);
      // Sealed to a key that the content origin does not hold: nothing arrives.
      await page.waitForSelector('html[data-state=failed]');
      expect(asked.filter((origin) => ![CONTENT, VAULT, rig.host.origin].includes(origin))).toEqual([]);
    }
    expect((await contentKeys(context)).ids).toEqual([]);
    await context.close();
  });

  it('attack 96: into no frame, and not to a window that another page holds', async () => {
    const { context, page } = await newPage();
    await joinAs(page, 'nora');
    await page.goto(`${CONTENT}/evil.html`);
    await heading(page, 'Evil');
    const address = `${VAULT}/-/keys#${new URLSearchParams({ key: await attackersKey(), to: '/' })}`;
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.body.appendChild(document.createElement('iframe'));
      frame.onload = resolve;
      frame.src = ${JSON.stringify(address)};
    })`);
    for (const frame of page.frames().slice(1)) expect(await frame.content()).not.toContain('id="vault"');
    const [opened] = await Promise.all([
      context.waitForEvent('page'),
      page.evaluate(`void (window.held = window.open(${JSON.stringify(address)}))`),
    ]);
    await opened.waitForURL(`${CONTENT}/-/keys**`);
    await opened.waitForSelector('html[data-state=failed]');
    // Back at the holder's own origin, it is out of reach all the same.
    expect(await page.evaluate('window.held.closed')).toBe(true);
    expect(await opened.evaluate('window.opener')).toBe(null);
    await context.close();
  });

  it('attacks 95 and 96: to no script of a published page, though it is of the same site', async () => {
    const { context, page } = await newPage();
    await joinAs(page, 'olga');
    await page.goto(`${CONTENT}/letter.html`);
    await heading(page, 'Letter');
    const before = JSON.stringify(await overview(rig.server.state));
    await page.goto(`${CONTENT}/evil.html`);
    await heading(page, 'Evil');
    const logged = rig.log().length;
    const got = await page.evaluate(`(async () => {
      const attempts = [['GET', '/-/keys'], ['POST', '/-/device'], ['POST', '/-/key-requests'], ['POST', '/-/invitation'],
        ['POST', '/-/forget'], ['POST', '/-/remove-device'], ['POST', '/-/password']];
      const through = [];
      for (const [method, path] of attempts)
        for (const mode of ['cors', 'no-cors']) {
          const answer = await fetch(${JSON.stringify(VAULT)} + path, { method, mode, credentials: 'include' }).catch(() => undefined);
          if (answer?.ok || (await answer?.text().catch(() => ''))) through.push(method + ' ' + path);
        }
      return through;
    })()`);
    expect(got).toEqual([]);
    // They did arrive.
    const lines = rig.log().slice(logged);
    for (const route of ['/-/keys', '/-/device', '/-/key-requests', '/-/forget'])
      expect(lines).toMatch(new RegExp(`"route":"${route}","status":403`));
    expect(JSON.stringify(await overview(rig.server.state))).toBe(before);
    await page.goto(`${VAULT}/-/account`);
    expect(await page.textContent('.lead')).toContain('olga');
    await context.close();
  });

  inRelease(() => {
    it('attack 43: as keys that nothing at the content origin can take out, and not twice', async () => {
      const { context, page } = await newPage();
      await joinAs(page, 'paula');
      const arrivals: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST' && request.url() === `${CONTENT}/-/keys`)
          arrivals.push(request.postData() ?? '');
      });
      await page.goto(`${CONTENT}/letter.html`);
      await heading(page, 'Letter');
      // Neither the way there nor the way back is left in the history of the window.
      expect(await page.evaluate('navigation.entries().filter(({ url }) => /sealed|key=/.test(url)).length')).toBe(0);
      expect(arrivals).toEqual([expect.stringMatching(/^sealed=[\w-]{100,}&to=/)]);
      await clearKeys(page);
      await page.goto('about:blank');
      const fields = Object.fromEntries(new URLSearchParams(arrivals[0]));
      const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
      const body = `<form method="post" action="${CONTENT}/-/keys">${inputs}</form><script>document.forms[0].submit()</script>`;
      const headers = { 'referrer-policy': 'strict-origin' };
      const other = await context.newPage();
      for (const [from, status] of [
        [foreign, 403],
        [VAULT, 200],
      ] as const) {
        await other.route(`${from}/-/again`, (route) => route.fulfill({ contentType: 'text/html', headers, body }));
        const answered = other.waitForResponse(`${CONTENT}/-/keys`);
        await other.goto(`${from}/-/again`);
        expect((await answered).status()).toBe(status);
      }
      await other.waitForSelector('html[data-state=failed]');
      expect((await contentKeys(context)).ids).toEqual([]);
      await context.close();
    });
  });
});
