/** Published content that the reading site decrypts, in Chromium, over HTTPS and with hosts of their own as an operator would have them: rows 96 and 97 of the attack list. */
import { writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startKeyServer } from '../../keyserver/server.ts';
import { makeCertificate } from '../support/certificates.ts';
import { launchChromium } from '../support/chromium.ts';
import { type Rig, startRig, temporaryFolder } from '../support/keyserver-rig.ts';
import { offerPlans } from '../support/offers.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { inRelease } from '../support/tier.ts';

const [KEYS, READ, PAGES] = ['keys.news.example', 'read.news.example', 'pages.news.example'];
const [ACCOUNT, DOCUMENTS] = [`https://${READ}`, `https://${PAGES}`];
const PASSWORD = 'correct horse battery';

/** Script of a page that attacks the account, and returns what it got: `true` where it got through. */
const ATTACK = `
const account = ${JSON.stringify(ACCOUNT)};
const refused = async (attempt) => { try { return Boolean(await attempt()); } catch { return false; } };
const framed = (address) => new Promise((resolve) => {
  const frame = document.body.appendChild(document.createElement('iframe'));
  frame.onload = () => { try { resolve(frame.contentDocument.forms.length > 0); } catch { resolve(false); } };
  frame.src = address;
});
async function attack() {
  const text = async (...request) => (await (await fetch(...request)).text()).length > 0;
  return {
    readsAccount: await refused(() => text(account + '/-/account', { credentials: 'include' })),
    readsAccountOpaquely: await refused(() => text(account + '/-/account', { credentials: 'include', mode: 'no-cors' })),
    readsDocumentThere: await refused(() => text(account + '/letter.html', { credentials: 'include' })),
    hasAccountHere: await refused(async () => (await fetch('/-/account')).ok || (await fetch('/-/sign-in')).ok),
    getsCode: await refused(async () => (await fetch('/-/begin?to=/evil.html')).ok),
    framesAccount: await refused(() => framed(account + '/-/account')),
    framesSignIn: await refused(() => framed(account + '/-/sign-in')),
    readsCookies: document.cookie !== '',
    setsCookieThere: await refused(() => {
      document.cookie = '__Host-wispr=x; Path=/; Secure; Domain=${READ}';
      return document.cookie !== '';
    }),
    registersWorker: await refused(() => navigator.serviceWorker.register('/evil.js')),
    registersWorkerBelow: await refused(() => navigator.serviceWorker.register('/-/style.css')),
    signsOut: await refused(async () => {
      const form = { method: 'POST', mode: 'no-cors', credentials: 'include' };
      await fetch(account + '/-/sign-out', form);
      return false;
    }),
  };
}
function plant() {
  const opened = window.open(account + '/-/sign-in');
  setTimeout(() => {
    try { opened.document.forms[0].addEventListener('submit', () => {}); window.planted = true; } catch { window.planted = false; }
  }, 2000);
}
`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect id="mark" width="9" height="9"/>
  <script>document.getElementById('mark').setAttribute('data-ran', 'yes');</script></svg>`;

let rig: Rig;
let browser: Browser;
let context: BrowserContext;
let page: Page;
beforeAll(async () => {
  const folder = temporaryFolder();
  const { key, cert } = await makeCertificate(
    folder,
    [KEYS, READ, PAGES].map((host) => `DNS:${host}`),
  );
  const tls = { certificate: join(folder, 'chain.pem'), key: join(folder, 'leaf.key') };
  await writeFile(tls.certificate, cert);
  await writeFile(tls.key, key);
  const listen = { host: '127.0.0.1', port: 0 };
  const documents = { origin: DOCUMENTS, listen, tls, inBrowser: false };
  const reading = { origin: ACCOUNT, listen, tls, documents };
  rig = await startRig({ config: { dev: false, origin: `https://${KEYS}`, tls, reading } });
  const { publisher, host, server } = rig;
  const html = 'text/html; charset=utf-8';
  const xhtml = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>X</title></head><body>
    <p id="mark">X</p><script>document.getElementById('mark').setAttribute('data-ran', 'yes');</script></body></html>`;
  for (const [path, content, mediaType, set] of [
    ['/index.html', '<h1>Front</h1>', html, undefined],
    ['/evil.html', '<body><button onclick="plant()">Win</button><script src="evil.js"></script>', html, undefined],
    ['/evil.js', ATTACK, 'text/javascript', undefined],
    ['/evil.svg', SVG, 'image/svg+xml', undefined],
    ['/evil.xml', SVG, 'text/xml; charset=utf-8', undefined],
    ['/picture.html', '<img src="evil.svg" alt="">', html, undefined],
    ['/page.xhtml', xhtml, 'application/xhtml+xml', undefined],
    ['/letter.html', '<h1>Letter</h1><p style="height: 3000px"></p><h2 id="end">End</h2>', html, 'day-1'],
  ] as const)
    await publish(publisher, host, { path, content, mediaType, ...(set && { set }) });
  const { reading: read, documents: pages } = server.ports;
  const rules = `MAP ${READ} 127.0.0.1:${read}, MAP ${PAGES} 127.0.0.1:${pages}`;
  browser = await launchChromium('--ignore-certificate-errors', `--host-resolver-rules=${rules}`);
});
beforeEach(async () => {
  await context?.close();
  context = await browser.newContext({ ignoreHTTPSErrors: true });
  page = await context.newPage();
});
afterAll(async () => {
  await browser?.close();
  await rig?.close().catch(() => rig.host.close()); // the last test has closed its server
});

async function joinAs(name: string): Promise<void> {
  await page.goto(`${ACCOUNT}/-/join`);
  await page.fill('#code', await rig.codeFor(name));
  await page.fill('#password', PASSWORD);
  await page.click('form#join button');
  await page.waitForURL(`${ACCOUNT}/-/account`);
}

const wasRun = () => page.evaluate('document.getElementById("mark").getAttribute("data-ran")');

inRelease(() => {
  it('signing in leads to the document and its query, a link to its place too, and signing out ends it', async () => {
    await joinAs('anna');
    await page.click('text=Sign out');
    await page.waitForURL(`${ACCOUNT}/-/sign-in?left=1`);
    await page.goto(`${ACCOUNT}/letter.html?page=2`);
    expect(page.url()).toBe(`${ACCOUNT}/letter.html?page=2`);
    await page.click('aside >> text=Sign in');
    await page.fill('#name', 'anna');
    await page.fill('#password', 'not the password');
    await page.click('form#sign-in button');
    await page.waitForSelector('.problem');
    await page.fill('#password', PASSWORD);
    await page.click('form#sign-in button');
    await page.waitForURL(`${DOCUMENTS}/letter.html?page=2`);
    await page.goto(`${ACCOUNT}/letter.html?page=2#end`);
    await page.waitForURL(`${DOCUMENTS}/letter.html?page=2#end`);
    expect(await page.evaluate('scrollY')).toBeGreaterThan(1000);
    const cookies = await context.cookies();
    expect(cookies.map(({ name, domain, secure, httpOnly }) => [name, domain, secure, httpOnly]).sort()).toEqual([
      ['__Host-wispr', PAGES, true, true],
      ['__Host-wispr', READ, true, true],
      ['__Host-wispr-known', READ, true, true],
    ]);
    await page.goto(`${ACCOUNT}/-/account`);
    await page.click('text=Sign out');
    await page.waitForURL(`${ACCOUNT}/-/sign-in?left=1`);
    await page.goto(`${DOCUMENTS}/letter.html`);
    await page.waitForSelector('#offer');
  });
});

it('attack 97: a script in a published page reaches no account, no session and no sign-in form', async () => {
  await joinAs('berta');
  await page.goto(`${ACCOUNT}/evil.html`);
  expect(page.url()).toBe(`${DOCUMENTS}/evil.html`);
  const got = (await page.evaluate('attack()')) as Record<string, boolean>;
  expect(Object.entries(got).filter(([, through]) => through)).toEqual([]);
  expect(Object.keys(got)).toHaveLength(12);
  for (const frame of page.frames().slice(1)) expect(await frame.content()).not.toMatch(/berta|id="name"/);
  const [opened] = await Promise.all([context.waitForEvent('page'), page.click('button')]);
  await page.waitForFunction('window.planted !== undefined');
  expect(await page.evaluate('window.planted')).toBe(false);
  expect(await opened.evaluate('window.opener')).toBe(null);
  await page.goto(`${ACCOUNT}/-/account`);
  expect(await page.textContent('.lead')).toContain('berta');
  await page.goto(`${DOCUMENTS}/letter.html`);
  expect(await page.textContent('h1')).toBe('Letter');
});

it.each(['/evil.svg', '/evil.xml'])('attack 97: %s, opened by itself, runs no script', async (path) => {
  await joinAs(`carla ${path.slice(6)}`);
  await page.goto(DOCUMENTS + path);
  expect(await page.evaluate('document.getElementById("mark") !== null')).toBe(true);
  expect(await wasRun()).toBe(null);
});

it('attack 97: leaves pictures in pages, and pages in XHTML, as they are', async () => {
  await page.goto(`${DOCUMENTS}/picture.html`, { waitUntil: 'load' });
  expect(await page.evaluate('document.querySelector("img").naturalWidth')).toBe(9);
  await page.goto(`${DOCUMENTS}/page.xhtml`);
  expect(await wasRun()).toBe('yes');
});

it('attack 96: nothing that is published is at the origin with accounts', async () => {
  await joinAs('dora');
  for (const path of ['/', '/evil.html', '/evil.svg', '/letter.html', '/nothing.html']) {
    await page.goto(ACCOUNT + path);
    expect(page.url()).toBe(DOCUMENTS + path);
  }
  expect(await page.locator('form').count()).toBe(0);
  await page.click('text=Your account');
  await page.waitForURL(`${ACCOUNT}/-/account`);
});

inRelease(() => {
  it('has the publisher’s colour after a new start, before anything was read', async () => {
    await offerPlans(rig, [], {}, { accent: '#a3301d' });
    await rig.server.close();
    await rig.host.close();
    const server = await startKeyServer(rig.config, { log: pino({ level: 'silent' }) });
    const options = { port: server.ports.reading, path: '/-/style.css', headers: { host: READ }, servername: READ };
    const style = () =>
      new Promise<string>((resolve, reject) =>
        get({ ...options, rejectUnauthorized: false }, (response) => resolve(text(response))).on('error', reject),
      );
    expect(await style()).toContain('--accent:#a3301d');
    await server.close();
  });
});
