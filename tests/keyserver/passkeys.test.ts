import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { launchChromium } from '../support/chromium.ts';
import { forFile } from '../support/for-file.ts';
import { configIn, rigForFile } from '../support/keyserver-rig.ts';
import { createReader } from '../support/reading-site-visitor.ts';

const AUTHENTICATOR = {
  ...({ protocol: 'ctap2', transport: 'internal', hasResidentKey: true } as const),
  ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
};
// Passkeys belong to names, not to addresses.
const rig = rigForFile({ config: { reading: { ...configIn('').reading, listen: { host: 'localhost', port: 0 } } } });
const browser = forFile(launchChromium);

interface Person {
  readonly page: Page;
  readonly complaints: string[];
}

/** Someone who has joined, at the account, in a browser with an authenticator. @param offers - whether the field for the name offers passkeys */
async function join(name: string, offers = false): Promise<Person> {
  const context = await browser.newContext();
  const page = await context.newPage();
  if (!offers) await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('status of')) complaints.push(message.text());
  });
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR });
  await page.goto(`${rig.server.readingUrl}/-/join#${(await rig.invite({ name })).code}`);
  await page.waitForSelector('#as:not([hidden])');
  await Promise.all([page.waitForURL(`${rig.server.documentsUrl}/**`), page.click('text=Read in this browser')]);
  await page.goto(`${rig.server.readingUrl}/-/account`);
  return { page, complaints };
}

async function addPasskey({ page }: Person, label: string): Promise<void> {
  await page.click('#signing-in summary');
  await page.fill('#label', label);
  await page.click('#add-passkey button');
  await page.waitForSelector(`#passkeys li:has-text("${label}")`, { state: 'attached' });
}

/** Forgets the session, and opens the sign-in page on the way to the account. */
async function leave({ page }: Person): Promise<void> {
  await page.context().clearCookies();
  await page.goto(`${rig.server.readingUrl}/-/account`);
}

/** Signs options as a page of `origin` would. */
async function answerAt({ page }: Person, origin: string, options: unknown): Promise<string> {
  await page.goto(`${origin}/-/style.css`);
  return page.evaluate(
    `navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)}) })
       .then((credential) => JSON.stringify(credential))`,
  );
}

const visitor = () => createReader(rig.server);
const options = async () => JSON.parse((await visitor().post('/-/passkey/options', {})).text);
const send = (answer: string, to = '/') => visitor().post('/-/passkey/sign-in', { answer, to });

describe('a passkey', () => {
  let ada: Person;
  beforeAll(async () => {
    ada = await join('ada');
    await addPasskey(ada, 'My phone');
  });

  it('is listed, signs in without a name or a password, and leads to the page that was wanted', async () => {
    const { page, complaints } = ada;
    await leave(ada);
    await page.click('#passkey button');
    await page.waitForSelector('#passkeys', { state: 'attached' });
    expect(page.url()).toBe(`${rig.server.readingUrl}/-/account`);
    expect(await page.textContent('.lead')).toContain('ada');
    expect(await page.textContent('#passkeys li')).toMatch(/My phone\s+added on .*, last used on /);
    expect(complaints).toEqual([]);
  });

  it('is made once in a device, and says so', async () => {
    const { page } = ada;
    await page.click('#signing-in summary');
    await page.fill('#label', 'Again');
    await page.click('#add-passkey button');
    await page.waitForSelector('#add-passkey .problem:not([hidden])');
    expect(await page.locator('#passkeys li').count()).toBe(1);
  });

  it('attack 116: an answer works once, and not after five minutes', async () => {
    const origin = rig.server.readingUrl;
    const answer = await answerAt(ada, origin, await options());
    const [first, again] = [await send(answer, '/-/account'), await send(answer)];
    expect([first.status, first.headers.location]).toEqual([303, '/-/account']);
    expect([again.status, again.headers['set-cookie']]).toEqual([403, undefined]);
    const late = await answerAt(ada, origin, await options());
    rig.passTime(301);
    expect((await send(late)).text).toBe(again.text);
  });

  it('attack 116: an answer made at another origin is refused, though its host is the same', async () => {
    const elsewhere = rig.host.origin.replace('127.0.0.1', 'localhost');
    rig.host.handlers.set('/-/style.css', (_request, response) => response.end());
    const answer = await answerAt(ada, elsewhere, await options());
    expect((await send(answer)).status).toBe(403);
  });

  it('attack 116: challenges are good for their own ceremony, and answers for their own signature', async () => {
    const origin = rig.server.readingUrl;
    const asked = await options();
    const made = { ...JSON.parse(await answerAt(ada, origin, asked)) };
    const other = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge: 'A'.repeat(43), origin }));
    const wrong = [
      { ...made, response: { ...made.response, clientDataJSON: other.toString('base64url') } },
      { ...made, response: { ...made.response, signature: made.response.authenticatorData } },
      made, // the challenge was used up by the attempt before
      { ...JSON.parse(await answerAt(ada, origin, await options())), id: 'AAAA', rawId: 'AAAA' },
      {},
      { response: null },
      [],
    ].map((answer) => JSON.stringify(answer));
    const pages = [];
    for (const answer of [...wrong, 'null', '{', '', 'x'.repeat(20_000)]) pages.push(await send(answer));
    expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 403));
    expect(new Set(pages.map(({ text }) => text)).size).toBe(1);
  });

  it('attack 50: forms and challenges of other sites are refused', async () => {
    for (const path of ['options', 'new', 'add', 'remove', 'sign-in'])
      expect((await visitor().post(`/-/passkey/${path}`, {}, { origin: 'https://evil.example' })).status).toBe(403);
  });

  it('never leads away', async () => {
    const answer = await answerAt(ada, rig.server.readingUrl, await options());
    expect((await send(answer, '//evil.example/')).headers.location).toBe('/');
  });

  it('attack 116: that counts backwards is a copy, and refused', async () => {
    const answer = await answerAt(ada, rig.server.readingUrl, await options());
    await rig.server.state.database.run('UPDATE reader_passkeys SET counter = counter + 1000');
    expect((await send(answer)).status).toBe(403);
    await rig.server.state.database.run('UPDATE reader_passkeys SET counter = 0');
  });

  it('does not sign in any more when it was removed', async () => {
    const { page } = ada;
    const answer = await answerAt(ada, rig.server.readingUrl, await options());
    await page.goto(`${rig.server.readingUrl}/-/account`);
    await page.click('#signing-in summary');
    await page.click('#passkeys button');
    await page.waitForSelector('#passkeys', { state: 'detached' });
    expect((await send(answer)).status).toBe(403);
  });
});

it('is offered in the field for the name', async () => {
  const carla = await join('carla', true);
  await addPasskey(carla, 'Laptop');
  await leave(carla);
  await carla.page.waitForSelector('#passkeys', { state: 'attached' }); // the authenticator of the test takes the offer at once
  await carla.page.context().close();
});

it('attacks 47 and 49: the passkeys of a revoked subscriber are refused, and a new invitation gives none back', async () => {
  const bert = await join('bert');
  const label = `<b>Key</b> '; --`;
  await addPasskey(bert, label); // attack 49: it is text
  expect(await bert.page.textContent('#passkeys li')).toContain(label);
  const answers = [];
  for (let count = 0; count < 2; count++) answers.push(await answerAt(bert, rig.server.readingUrl, await options()));
  await revokeSubscriber(rig.server.state, 'bert');
  expect((await send(answers[0] ?? '')).status).toBe(403);
  await rig.invite({ name: 'bert' });
  expect((await send(answers[1] ?? '')).status).toBe(403);
  await bert.page.context().close();
});
