/** A button of the reading site connects the Reader on the same computer, in Chromium; and a page of anyone else gets no further than a question. */
import { createServer } from 'node:https';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConnectTo, type RunningProxy, startProxy } from '../../client-proxy/index.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import { DESCRIPTOR_TARGET } from '../../core/publication/names.ts';
import { READER_INVITATION_PATH, READER_PORT } from '../../core/site/open-in-reader.ts';
import { HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { accessibilityProblems } from '../support/axe.ts';
import { makeCertificate } from '../support/certificates.ts';
import { launchChromium } from '../support/chromium.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { type Rig, startRig } from '../support/keyserver-rig.ts';
import { takePictures } from '../support/pages/browser.ts';
import { describe as descriptorOf, publish, SITE } from '../support/publisher-with-sets.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let rig: Rig;
let reader: RunningProxy;
let browser: Browser;
let page: Page;
/** Number of requests for the proof of a host. */
let proofs = 0;
beforeAll(async () => {
  rig = cleanUp.use(await startRig());
  const descriptor = descriptorOf(rig.publisher, { ...rig.server.origins, content: rig.host.origin });
  rig.publisher.publication.wholeFiles.set(DESCRIPTOR_TARGET, descriptor);
  await publish(rig.publisher, rig.host, { path: '/a.html', content: '<h1>Fog</h1>', mediaType: 'text/html' });
  const directory = await temporaryFolder(cleanUp);
  const certificate = await makeCertificate(directory, [`DNS:${SITE}`]);
  const proofServer = createServer(certificate, ({ url }, response) => {
    proofs++;
    response.writeHead(url === HOST_PROOF_PATH ? 200 : 404).end(hostProofLine(rig.publisher.root.id));
  });
  const proofPort = await listenOnLoopback(proofServer);
  cleanUp.add(() => closeServer(proofServer));
  const connectTo = [parseConnectTo(`:443:127.0.0.1:${proofPort}`)];
  const options = { ...storageIn(directory), connectTo, ca: certificate.ca, dnsServers: ['127.0.0.1:9'] };
  reader = cleanUp.use(await startProxy({ ...options, port: 0 }));
  browser = cleanUp.use(await launchChromium());
  page = await browser.newPage();
  // Pages name the usual port, which a test cannot be sure to get.
  await page.route(
    ({ origin, pathname }) => origin === rig.server.readingUrl && /^\/-\/(?:account|join)$/.test(pathname),
    async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const response = await route.fetch({ maxRedirects: 0 });
      const here = (text: string) => text.replaceAll(`localhost:${READER_PORT}`, `localhost:${reader.port}`);
      const headers = Object.entries(response.headers()).map(([name, value]) => [name, here(value)]);
      return route.fulfill({ response, headers: Object.fromEntries(headers), body: here(await response.text()) });
    },
  );
});
afterAll(() => cleanUp.run());

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const heading = () => page.textContent('h1');
const sites = async () => (await reader.sites()).map(({ site }) => site);
const invitation = async (name: string) => `/-/join#${(await rig.invite({ name })).code}.${rig.publisher.root.id}`;

describe('"Connect the Reader on this computer"', () => {
  it('in the account leads to the question of the Reader, and its yes connects', async () => {
    await page.goto(rig.server.readingUrl + (await invitation('ada')));
    await press('Read in this browser');
    await page.waitForURL((url) => !url.pathname.startsWith('/-/join'));
    await page.goto(`${rig.server.readingUrl}/-/account`);
    await takePictures(page, 'account-connect-reader');
    await press('Connect the Reader on this computer');
    await page.waitForURL(`http://localhost:${reader.port}${READER_INVITATION_PATH}`);
    await takePictures(page, 'reader-invitation-filled-in');
    expect(await accessibilityProblems(page)).toEqual([]);
    expect([await sites(), proofs]).toEqual([[], 0]); // hosts are not asked yet
    await press('Continue');
    expect(await heading()).toBe('Connect with The Harbour News?');
    expect(await sites()).toEqual([]);
    await press('Connect');
    await page.waitForURL('**/?done=connected');
    expect(await sites()).toEqual([SITE]);
    await page.goto(`${rig.server.readingUrl}/-/account`);
    expect(await page.textContent('#devices')).toContain('A Reader');
  });

  it('on the page of an invitation does the same', async () => {
    const other = await invitation('bert');
    await page.goto(rig.server.readingUrl + other);
    await press('Connect the Reader on this computer');
    await page.waitForURL(`http://localhost:${reader.port}${READER_INVITATION_PATH}`);
    const link = await page.getByLabel('Link or code of your invitation').inputValue();
    expect(link).toBe(
      `${rig.server.readingUrl}#${other.split('#')[1]?.replace(/-/g, (dash, at) => (at < 19 ? '' : dash))}`,
    );
  });

  it('leaves a link to paste for a Reader at another port', async () => {
    await page.goto(`${rig.server.readingUrl}/-/account`);
    await press('Show a link to copy');
    await page.waitForSelector('#reader[open]');
    expect(await page.inputValue('#link')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/-\/join#[A-Z0-9-]{19}\./);
  });
});

describe('attack 61, 62, 95: a page of another site', () => {
  const CODE = 'ABCD-EFGH-JKMN-PQRS';

  it.each([
    ['what is no invitation', '<b>not</b>', 'link-malformed'],
    ['a link without a code', 'https://keys.evil.example', 'link-malformed'],
    ['words around it', `Your bank says: wispr bind https://keys.evil.example#${CODE}`, undefined],
  ])('that posts %s puts no words of its own into the page', async (_, link, code) => {
    await page.route(`${rig.server.readingUrl}/-/evil`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method="post" action="http://localhost:${reader.port}/invitation"><input name="link"></form>`,
      }),
    );
    await page.goto(`${rig.server.readingUrl}/-/evil`);
    await page.fill('input', link);
    await page.evaluate('document.forms[0].submit()');
    await page.waitForSelector('input[name=link][type=text]');
    expect(await page.content()).not.toMatch(/<b>not|Your bank/);
    if (code !== undefined) expect(await page.textContent('[role=alert]')).toContain(code);
  });

  const headers = () => ({
    host: `localhost:${reader.port}`,
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  });
  it.each([
    ['in a frame', { 'sec-fetch-dest': 'iframe' }],
    ['by fetch', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' }],
    ['under a foreign name', { host: 'evil.example' }],
    ['to the form that asks servers', {}, '/connect'],
  ])('is refused %s', async (_, changes, path = READER_INVITATION_PATH) => {
    const body = new URLSearchParams({ link: `https://keys.evil.example#${CODE}` }).toString();
    const answer = await send(reader.port, path, { method: 'POST', headers: { ...headers(), ...changes }, body });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).not.toContain('keys.evil.example');
    expect(refusalCode(answer)).toMatch(/^(?:cross-site|host-unknown|host-unreachable)$/);
  });

  it('is told by the answer that it cannot frame the page', async () => {
    const body = new URLSearchParams({ link: `https://keys.evil.example#${CODE}` }).toString();
    const answer = await send(reader.port, READER_INVITATION_PATH, { method: 'POST', headers: headers(), body });
    expect(answer.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(answer.status).toBe(200);
  });
});
