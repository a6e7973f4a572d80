/** Way from the plans to the article in Chromium, by the pretended Stripe, whose events come later than the browser. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buyPath, type PretendedStripe, startPretendedStripe } from '../../../serve/stripe/server.ts';
import { accessibilityProblems } from '../../support/axe.ts';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { startRig } from '../../support/keyserver-rig.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { offerPlans } from '../../support/offers.ts';
import { takePictures } from '../../support/pages/browser.ts';
import { publish } from '../../support/publisher-with-sets.ts';
import { stripeSettings } from '../../support/stripe-events.ts';

const SECRET = 'whsec_of_this_test';
const PORTAL = 'https://billing.stripe.com/p/login/test';
const [ARTICLE, ARABIC] = ['/20/harbour.html', '/20/arabic.html'];
const PLANS = [
  { name: 'daily', title: 'Weekday paper', about: 'Every issue, letters and leaders', price: '€6 a month', trial: 14 },
  { name: 'monday', title: 'Monday only', about: 'One issue a week', price: '€2 a month' },
  { name: 'institution', title: 'For an institution', about: 'From 10 people, one link', price: '€40 a month' },
];
const browser = forFile(launchChromium);
const smtp = forFile(() => startMailServer());
const rig = forFile(() => {
  const stripe = { ...stripeSettings(SECRET, 'daily', 'monday', 'institution'), portal: PORTAL };
  return startRig({ config: { mail: smtp.settings, stripe } });
});
let shop: PretendedStripe;
const { promise: late, resolve: sendEvents } = Promise.withResolvers<void>();
beforeAll(async () => {
  const plans = PLANS.map((plan) => ({ ...plan, amount: 600 }));
  shop = await startPretendedStripe({
    ...{ secret: SECRET, plans, patience: 0, now: () => rig.server.state.now() },
    arrange: (events) => late.then(() => events),
  });
  const { url, readingUrl } = rig.server;
  shop.connect({ webhook: `${url}/v1/stripe`, after: `${readingUrl}/-/bought` });
  for (const [path, language] of [
    [ARTICLE, 'lang="en"'],
    [ARABIC, 'lang="ar" dir="rtl"'],
  ] as const)
    await publish(rig.publisher, rig.host, {
      ...{ path, content: `<!doctype html><html ${language}><title>Harbour</title><h1>The harbour</h1>` },
      ...{ mediaType: 'text/html', set: 'day-1' },
    });
  const offered = PLANS.map((plan) => ({ ...plan, buy: shop.url + buyPath(plan.name) }));
  await offerPlans(rig, offered, { daily: ['*'] }, { gifts: { days: 14, openings: 3, perMonth: 4 } });
});
afterAll(() => shop?.stop());

/** Looks at a page on a phone and on a desk. */
async function look(page: Page, name: string): Promise<void> {
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    expect(await accessibilityProblems(page)).toEqual([]);
  }
  await takePictures(page, `till-${name}`);
}

it('three taps after the teaser, and an address typed, the article stands there; every page on the way is accessible', async () => {
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
  await page.fill('#email', 'ada@example.org');
  const waiting = await page.context().newPage();
  await waiting.route('**/-/bought?*', async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/<meta http-equiv="refresh"[^>]*>/, ''); // the page stays then
    await route.fulfill({ response, body });
  });
  await waiting.goto(`${rig.server.readingUrl}/-/bought?session_id=cs_test_1`);
  await waiting.waitForSelector('text=One moment');
  await look(waiting, 'bought');
  await page.click('text=Pay');
  await page.waitForSelector('text=One moment');
  sendEvents();
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
  await other.goto(`${rig.server.readingUrl}/-/subscribe`);
  await other.waitForSelector('#change');
  await look(other, 'change');
  await other.route(PORTAL, (route) => route.fulfill({ body: 'Portal' }));
  await other.click('#subscribe button');
  await other.waitForURL(PORTAL);
  const body = new URLSearchParams({ subscription: shop.purchases[0]?.ids.subscription ?? '', do: 'fail' });
  await fetch(`${shop.portal}?prefilled_email=ada%40example.org`, { method: 'POST', body });
  await other.goto(`${rig.server.readingUrl}/-/account`);
  await other.waitForSelector('text=€6 a month, payment due');
  await look(other, 'failed');
  await page.goto(`${rig.server.readingUrl}/-/bought?session_id=${shop.purchases[0]?.ids.session}`);
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
