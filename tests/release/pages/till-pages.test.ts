/** From the plans to the article in Chromium, by a shop that signs its events as Stripe does. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessibilityProblems } from '../../support/axe.ts';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { startRig, temporaryFolder } from '../../support/keyserver-rig.ts';
import { mailSettings, startMailServer } from '../../support/mail-server.ts';
import { offerPlans } from '../../support/offers.ts';
import { publish } from '../../support/publisher-with-sets.ts';
import { checkoutEvent, stripeSignature, subscriptionEvent } from '../../support/stripe-events.ts';

const SECRET = 'whsec_of_this_test';
const ARTICLE = '/20/harbour.html';
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
  await publish(rig.publisher, rig.host, {
    ...{ path: ARTICLE, content: '<!doctype html><title>Harbour</title><h1>The harbour</h1>' },
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
  );
});
afterAll(() => void shop?.close());

async function tell(body: string): Promise<void> {
  const headers = { 'stripe-signature': stripeSignature(body, SECRET, rig.server.state.now()) };
  const { status } = await fetch(`${rig.server.url}/v1/stripe`, { method: 'POST', body, headers });
  if (status !== 204) throw new Error(`the key server answers ${status}`);
}

it('three taps after the teaser, and a card typed, the article stands there; every page on the way is accessible', async () => {
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
  await page.fill('#card', '4242424242424242');
  await page.click('#pay');
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
  await page.goto(`${rig.server.readingUrl}/-/bought?session_id=cs_test_1`);
  await page.waitForSelector('text=Check your mail');
  await look('mail');
  expect(complaints).toEqual([]);
});
