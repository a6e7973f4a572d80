/** From the plans to the article in Chromium, by a shop that signs its events as Stripe does. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessibilityProblems } from '../../support/axe.ts';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { startRig, temporaryFolder } from '../../support/keyserver-rig.ts';
import { mailSettings, startMailServer } from '../../support/mail-server.ts';
import { offerPlans } from '../../support/offers.ts';
import { takePictures } from '../../support/pages/browser.ts';
import { publish } from '../../support/publisher-with-sets.ts';
import { checkoutEvent, stripeSignature, subscriptionEvent } from '../../support/stripe-events.ts';

const SECRET = 'whsec_of_this_test';
const [ARTICLE, ARABIC] = ['/20/harbour.html', '/20/arabic.html'];
const browser = forFile(launchChromium);
const smtp = forFile(() => startMailServer({ disabledCommands: ['STARTTLS'] }));
const rig = forFile(() => {
  const secretFile = join(temporaryFolder(), 'stripe.secret');
  writeFileSync(secretFile, SECRET, { mode: 0o600 });
  const mail = mailSettings(`smtp://127.0.0.1:${smtp.port}`);
  const stripe = { secretFile, plans: { price_daily: 'daily' }, portal: 'https://billing.stripe.com/p/login/test' };
  return startRig({ config: { mail, stripe } });
});
let shop: Server;
beforeAll(async () => {
  shop = createServer(async (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://shop');
    const reference = searchParams.get('client_reference_id');
    if (request.method !== 'POST') {
      const form =
        '<form method="post"><label>Card <input id="card" required></label><button id="pay">Pay</button></form>';
      return response.end(`<!doctype html><title>Shop</title>${form}`);
    }
    const back = `${rig.server.readingUrl}/-/bought?session_id=cs_test_1`;
    response.writeHead(303, { location: back }).end();
    await wait(500); // later than the browser
    const now = rig.server.state.now();
    await tell(subscriptionEvent('created', now, { id: 'sub_1', start: now - 60 }));
    await tell(
      checkoutEvent(now, { session: 'cs_test_1', subscription: 'sub_1', reference, email: 'ada@example.org' }),
    );
  });
  shop.listen(0, '127.0.0.1');
  await once(shop, 'listening');
  const buy = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/buy`;
  for (const [path, language] of [
    [ARTICLE, 'lang="en"'],
    [ARABIC, 'lang="ar" dir="rtl"'],
  ] as const)
    await publish(rig.publisher, rig.host, {
      ...{ path, content: `<!doctype html><html ${language}><title>Harbour</title><h1>The harbour</h1>` },
      ...{ mediaType: 'text/html', set: 'day-1' },
    });
  await offerPlans(
    rig,
    [
      {
        name: 'daily',
        title: 'Weekday paper',
        about: 'Every issue, letters and leaders',
        price: '€6 a month',
        trial: 14,
        buy,
      },
      { name: 'monday', title: 'Monday only', about: 'One issue a week', price: '€2 a month', buy },
      {
        name: 'institution',
        title: 'For an institution',
        about: 'From 10 people, one link',
        price: '€40 a month',
        buy,
      },
    ],
    { daily: ['*'] },
    { gifts: { days: 14, openings: 3, perMonth: 4 } },
  );
});
afterAll(() => void shop?.close());

async function tell(body: string): Promise<void> {
  const headers = { 'stripe-signature': stripeSignature(body, SECRET, rig.server.state.now()) };
  const { status } = await fetch(`${rig.server.url}/v1/stripe`, { method: 'POST', body, headers });
  if (status !== 204) throw new Error(`the key server answers ${status}`);
}

/** On a phone and on a desk. */
async function look(page: Page, name: string): Promise<void> {
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    expect(await accessibilityProblems(page)).toEqual([]);
  }
  await takePictures(page, `till-${name}`);
}

it('three taps after the teaser, and a card typed, the article stands there; every page on the way is accessible', async () => {
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on(
    'console',
    (message) =>
      void (message.type() === 'error' && !message.text().includes('status of 404') && complaints.push(message.text())),
  );
  await page.goto(rig.server.readingUrl + ARTICLE);
  await page.click('a[href*="/-/subscribe?"]');
  await page.waitForSelector('text=You come back to Harbour');
  await look(page, 'subscribe');
  await page.click('#subscribe button');
  await page.fill('#card', '4242424242424242');
  const waiting = await page.context().newPage();
  await waiting.route('**/-/bought?*', async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/<meta http-equiv="refresh"[^>]*>/, ''); // so that it stays
    await route.fulfill({ response, body });
  });
  await waiting.goto(`${rig.server.readingUrl}/-/bought?session_id=cs_test_1`);
  await waiting.waitForSelector('text=One moment');
  await look(waiting, 'bought');
  await page.click('#pay');
  await page.waitForSelector('text=One moment');
  await page.waitForURL(rig.server.documentsUrl + ARTICLE);
  await page.waitForSelector('text=The harbour');
  await page.goto(`${rig.server.readingUrl}/-/account`);
  await page.waitForSelector('text=€6 a month, renews on');
  await look(page, 'account');
  await page.goto(`${rig.server.readingUrl}/-/give?to=${ARTICLE}`);
  await look(page, 'give');
  await page.click('#give button');
  await page.waitForSelector('#link');
  await look(page, 'given');
  const gift = await page.inputValue('#link');
  const other = await (await browser.newContext()).newPage();
  await other.goto(gift);
  await look(other, 'gift');
  await other.goto(/http:\S+#\S+/.exec(await smtp.take('ada@example.org'))?.[0] ?? '');
  await other.click('#here button');
  await other.waitForURL(rig.server.documentsUrl + ARTICLE);
  await page.goto(`${rig.server.readingUrl}/-/bought?session_id=cs_test_1`);
  await page.waitForSelector('text=Check your mail');
  await look(page, 'mail');
  expect(complaints).toEqual([]);
});

it('a stranger’s other pages are accessible: teasers at both origins, right to left too, and signing up', async () => {
  const page = await (await browser.newContext()).newPage();
  const { readingUrl: account, documentsUrl } = rig.server;
  for (const path of [ARTICLE, ARABIC]) {
    await page.goto(account + path);
    await look(page, `teaser-${path.slice(4, 6)}`);
  }
  const url = documentsUrl + ARABIC;
  const headers = { 'user-agent': 'facebookexternalhit/1.1', accept: '*/*' };
  const response = await page.request.get(url, { headers }); // windows are led to the account's
  await page.route(url, (route) => route.fulfill({ response }));
  await page.goto(url);
  await page.waitForSelector('#read');
  await look(page, 'teaser-documents');
  await page.goto(`${account}/-/sign-up?to=${ARTICLE}`);
  await look(page, 'sign-up');
  await page.fill('#name', 'eve@example.org');
  await page.click('#sign-up button');
  await page.waitForSelector('#mail-code');
  await look(page, 'mail-code');
});
