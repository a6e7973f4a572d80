/** Published content that the reading site decrypts, in Chromium, over HTTPS and with hosts of their own as an operator would have them: row 97 of the attack list. */
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { startKeyServer } from '../../keyserver/server.ts';
import { makeCertificate } from '../support/certificates.ts';
import { launchChromium } from '../support/chromium.ts';
import { forFile } from '../support/for-file.ts';
import { listen, logged, rigForFile, temporaryFolder } from '../support/keyserver-rig.ts';
import { offerPlans } from '../support/offers.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { inRelease } from '../support/tier.ts';

const [KEYS, READ, PAGES] = ['keys.news.example', 'read.news.example', 'pages.news.example'];
const [ACCOUNT, DOCUMENTS] = [`https://${READ}`, `https://${PAGES}`];

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
function openSignIn() {
  window.signIn = window.open(account + '/-/sign-in');
}
function plant() {
  try { window.signIn.document.forms[0].addEventListener('submit', () => {}); return true; } catch { return false; }
}
`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect id="mark" width="9" height="9"/>
  <script>document.getElementById('mark').setAttribute('data-ran', 'yes');</script></svg>`;

const rig = rigForFile(async () => {
  const folder = temporaryFolder();
  await makeCertificate(folder, [`DNS:${KEYS}`, `DNS:${READ}`, `DNS:${PAGES}`]);
  const tls = { certificate: join(folder, 'leaf.pem'), key: join(folder, 'leaf.key') };
  const documents = { origin: DOCUMENTS, listen, tls, inBrowser: false };
  const reading = { origin: ACCOUNT, listen, tls, documents };
  return { config: { dev: false, origin: `https://${KEYS}`, tls, reading } };
});
const browser = forFile(() => {
  const { reading, documents } = rig.server.ports;
  const rules = `MAP ${READ} 127.0.0.1:${reading}, MAP ${PAGES} 127.0.0.1:${documents}`;
  return launchChromium('--ignore-certificate-errors', `--host-resolver-rules=${rules}`);
});
let context: BrowserContext;
let page: Page;
beforeAll(async () => {
  const html = 'text/html; charset=utf-8';
  const xhtml = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>X</title></head><body>
    <p id="mark">X</p><script>document.getElementById('mark').setAttribute('data-ran', 'yes');</script></body></html>`;
  for (const [path, content, mediaType, set] of [
    ['/index.html', '<h1>Front</h1>', html, undefined],
    ['/evil.html', '<body><button onclick="openSignIn()">Win</button><script src="evil.js"></script>', html, undefined],
    ['/evil.js', ATTACK, 'text/javascript', undefined],
    ['/evil.svg', SVG, 'image/svg+xml', undefined],
    ['/evil.xml', SVG, 'text/xml; charset=utf-8', undefined],
    ['/picture.html', '<img src="evil.svg" alt="">', html, undefined],
    ['/page.xhtml', xhtml, 'application/xhtml+xml', undefined],
    ['/letter.html', '<h1>Letter</h1>', html, 'day-1'],
  ] as const)
    await publish(rig.publisher, rig.host, { path, content, mediaType, ...(set && { set }) });
});
beforeEach(async () => {
  await context?.close();
  context = await browser.newContext({ ignoreHTTPSErrors: true });
  page = await context.newPage();
});

const wasRun = () => page.evaluate('document.getElementById("mark").getAttribute("data-ran")');

it('attack 97: a script in a published page reaches no account, no session and no sign-in form', async () => {
  await page.goto(`${ACCOUNT}/-/join`);
  await page.fill('#code', await rig.codeFor('berta'));
  await page.fill('#password', 'correct horse battery');
  await page.click('form#join button');
  await page.waitForURL(`${ACCOUNT}/-/account`);
  await page.goto(`${ACCOUNT}/evil.html`);
  expect(page.url()).toBe(`${DOCUMENTS}/evil.html`);
  const got = (await page.evaluate('attack()')) as Record<string, boolean>;
  expect(Object.entries(got).filter(([, through]) => through)).toEqual([]);
  expect(Object.keys(got)).toHaveLength(12);
  for (const frame of page.frames().slice(1)) expect(await frame.content()).not.toMatch(/berta|id="name"/);
  const [opened] = await Promise.all([context.waitForEvent('page'), page.click('button')]);
  await opened.waitForLoadState();
  expect(await page.evaluate('plant()')).toBe(false);
  expect(await opened.evaluate('window.opener')).toBe(null);
  await page.goto(`${ACCOUNT}/-/account`);
  expect(await page.textContent('.lead')).toContain('berta');
  await page.goto(`${DOCUMENTS}/letter.html`);
  expect(await page.textContent('h1')).toBe('Letter');
});

it.each(['/evil.svg', '/evil.xml'])('attack 97: %s, opened by itself, runs no script', async (path) => {
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

inRelease(() => {
  it('has the publisher’s colour after a new start, before anything was read', async () => {
    await offerPlans(rig, [], {}, { accent: '#a3301d' });
    await rig.server.close();
    await rig.host.close();
    const server = await startKeyServer(rig.config, { log: logged().log });
    const options = { port: server.ports.reading, path: '/-/style.css', headers: { host: READ }, servername: READ };
    const style = () =>
      new Promise<string>((resolve, reject) =>
        get({ ...options, rejectUnauthorized: false }, (response) => resolve(text(response))).on('error', reject),
      );
    expect(await style()).toContain('--accent:#a3301d');
    await server.close();
  });
});
