/** From the plans to the article in Chromium, by the pretended Stripe, whose events come later than the browser. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buyPath, type PretendedStripe, startPretendedStripe } from '../../../serve/stripe/server.ts';
import { accessibilityProblems } from '../../support/axe.ts';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { startRig, temporaryFolder } from '../../support/keyserver-rig.ts';
import { mailSettings, startMailServer } from '../../support/mail-server.ts';
import { offerPlans } from '../../support/offers.ts';
import { publish } from '../../support/publisher-with-sets.ts';

const SECRET = 'whsec_of_this_test';
const ARTICLE = '/20/harbour.html';
const PLANS = [
  { name: 'daily', title: 'Weekday paper', about: 'Every issue, letters and leaders', price: '€6 a month', trial: 14 },
  { name: 'monday', title: 'Monday only', about: 'One issue a week', price: '€2 a month' },
  { name: 'institution', title: 'For an institution', about: 'From 10 people, one link', price: '€40 a month' },
];
const browser = forFile(launchChromium);
const smtp = forFile(() => startMailServer({ disabledCommands: ['STARTTLS'] }));
const rig = forFile(() => {
  const secretFile = join(temporaryFolder(), 'stripe.secret');
  writeFileSync(secretFile, SECRET, { mode: 0o600 });
  const mail = mailSettings(`smtp://127.0.0.1:${smtp.port}`);
  const stripe = { secretFile, plans: { price_daily: 'daily' }, portal: 'https://billing.stripe.com/p/login/test' };
  return startRig({ config: { mail, stripe } });
});
let shop: PretendedStripe;
beforeAll(async () => {
  const plans = PLANS.map((plan) => ({ ...plan, amount: 600 }));
  shop = await startPretendedStripe({
    ...{ secret: SECRET, plans, patience: 0, now: () => rig.server.state.now() },
    arrange: (events) => wait(500, events),
  });
  const { url, readingUrl } = rig.server;
  shop.connect({ webhook: `${url}/v1/stripe`, after: `${readingUrl}/-/bought` });
  await publish(rig.publisher, rig.host, {
    ...{ path: ARTICLE, content: '<!doctype html><title>Harbour</title><h1>The harbour</h1>' },
    ...{ mediaType: 'text/html', set: 'day-1' },
  });
  const offered = PLANS.map((plan) => ({ ...plan, buy: shop.url + buyPath(plan.name) }));
  await offerPlans(rig, offered, { daily: ['*'] });
});
afterAll(() => shop?.stop());

it('three taps after the teaser, and an address typed, the article stands there; every page on the way is accessible', async () => {
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on(
    'console',
    (message) =>
      void (message.type() === 'error' && !message.text().includes('status of 404') && complaints.push(message.text())),
  );
  const look = async (name: string) => {
    expect(await accessibilityProblems(page)).toEqual([]);
    const folder = process.env.WISPR_SCREENSHOTS;
    for (const width of folder === undefined ? [] : [390, 1280])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(folder ?? '', `till-${name}-${width}-${colorScheme}.png`), fullPage: true });
      }
  };
  await page.goto(rig.server.readingUrl + ARTICLE);
  await page.click('a[href*="/-/subscribe?"]');
  await page.waitForSelector('text=You come back to Harbour');
  await look('subscribe');
  await page.click('#subscribe button');
  await page.fill('#email', 'ada@example.org');
  await page.click('text=Pay');
  await page.waitForSelector('text=One moment');
  await page.waitForURL(rig.server.documentsUrl + ARTICLE);
  await page.waitForSelector('text=The harbour');
  await page.goto(`${rig.server.readingUrl}/-/account`);
  await page.waitForSelector('text=€6 a month, renews on');
  await look('account');
  const other = await (await browser.newContext()).newPage();
  await other.goto(/http:\S+#\S+/.exec(await smtp.take('ada@example.org'))?.[0] ?? '');
  await other.click('#here button');
  await other.waitForURL(rig.server.documentsUrl + ARTICLE);
  await page.goto(`${rig.server.readingUrl}/-/bought?session_id=${shop.purchases[0]?.ids.session}`);
  await page.waitForSelector('text=Check your mail');
  await look('mail');
  expect(complaints).toEqual([]);
});
