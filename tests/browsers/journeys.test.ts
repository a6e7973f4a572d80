/** Ways from the teaser of an article to the article, in three browsers: what each costs in taps and typed fields, and that it ends at the article's own address. */
import { getGlobalDispatcher, ProxyAgent, request, setGlobalDispatcher } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { DESCRIPTOR_TARGET } from '../../core/publication/names.ts';
import { type InvitationRequest, invitationLink } from '../../keyserver/readers/invitations.ts';
import { startPretendedStripe } from '../../serve/stripe/server.ts';
import { barOf } from '../../teaser/bar.ts';
import { type FallbackSettings, fallbackPageOf } from '../../teaser/fallback-page.ts';
import { readPage } from '../../teaser/page.ts';
import { renderTeaser } from '../../teaser/render.ts';
import { forFile } from '../support/for-file.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { codeInMail, startMailServer } from '../support/mail-server.ts';
import { offerPlans } from '../support/offers.ts';
import { describe as descriptorOf, publish } from '../support/publisher-with-sets.ts';
import { stripeSettings } from '../support/stripe-events.ts';
import { startWebReaderServers } from '../support/web-reader-rig.ts';
import { startChromium } from './chromium.ts';
import { startFirefox } from './firefox.ts';
import { startFront, startNetwork } from './network.ts';
import { Traveller } from './traveller.ts';
import { startWebkit } from './webkit.ts';

const [CACHE, SHOP] = ['cache.news.example', 'pay.shop.example'];
const [CONTENT, TILL] = [`https://${CACHE}`, `https://${SHOP}`];
const SECRET = 'whsec_of_this_test';
const PLANS = [
  { name: 'monday', title: 'Monday only', price: '€2 a month', buy: `${TILL}/pay/monday` },
  { name: 'daily', title: 'Weekday paper', price: '€6 a month', trial: 14, buy: `${TILL}/pay/daily` },
];
const articleOf = (title: string) => `<!doctype html><html lang="en"><head><title>${title}</title>
  <meta property="og:title" content="${title}"><meta property="og:image" content="/boat.png"></head>
  <body><p data-wispr-excerpt>The great tide arrived on Tuesday.</p><p id="paid">Ships</p>`;
const [HARBOUR, TIDE, LED] = ['/20/harbour.html', '/20/tide.html', '/20/led.html'];

const smtp = forFile(() => startMailServer());
const rig = forFile(() => {
  const config = { mail: smtp.settings, stripe: stripeSettings(SECRET, 'monday', 'daily') };
  return startWebReaderServers({ content: [CONTENT], otherNames: [CACHE, SHOP], firstPage: 'server', config });
});
const shop = forFile(async () => {
  const plans = PLANS.map((plan) => ({ ...plan, amount: 600 }));
  const stripe = await startPretendedStripe({ secret: SECRET, plans, now: () => rig.server.state.now() });
  return { ...stripe, close: stripe.stop };
});
const front = forFile(() => startFront(shop.url));
const network = forFile(() => startNetwork(rig.ports));
const before = getGlobalDispatcher();
beforeAll(async () => {
  await network.addPlainHost(CACHE, rig.host.port, rig.tls);
  await network.addPlainHost(SHOP, front.port, rig.tls);
  const uri = `http://127.0.0.1:${network.port}`;
  setGlobalDispatcher(new ProxyAgent({ uri, requestTls: { rejectUnauthorized: false } }));
  shop.connect({ webhook: `${rig.server.url}/v1/stripe`, after: at('/-/bought') });
  const content = { ...rig.host, origin: CONTENT };
  const gifts = { days: 14, openings: 3, perMonth: 4 };
  const { publisher, server } = rig;
  await offerPlans({ server, publisher, host: content }, PLANS, { monday: ['day-2'], daily: ['*'] }, { gifts });
  const origins = { keyServer: server.url, reading: server.readingUrl, content: CONTENT };
  publisher.publication.wholeFiles.set(DESCRIPTOR_TARGET, descriptorOf(publisher, origins));
  const html = 'text/html; charset=utf-8';
  await publish(publisher, rig.host, { path: '/index.html', content: '<title>Front</title>', mediaType: html });
  await publish(publisher, rig.host, { path: '/boat.png', content: 'picture', mediaType: 'image/png' });
  for (const [path, redirect] of [[HARBOUR], [TIDE], [LED, 'always']] as const) {
    const text = articleOf(path);
    await publish(publisher, rig.host, { path, content: text, mediaType: html, set: 'day-1' });
    rig.host.files.set(path, Buffer.from(teaserOf(path, text, redirect)));
  }
});
afterAll(() => setGlobalDispatcher(before));

/** Page that the publisher's content host shows at the address of an article. */
function teaserOf(path: string, text: string, redirect: FallbackSettings['redirect']): string {
  const names = { publisher: 'The News', site: 'news.example', content: CONTENT, reading: at('') };
  const settings = { ...names, plans: PLANS, redirect };
  const page = fallbackPageOf(path, readPage(Buffer.from(text)).teaser, settings);
  return renderTeaser(page, barOf(page, settings), { script: true });
}

/** Address at the account's origin. */
const at = (path: string) => rig.account + path;

/** Opens the article in this browser by its address at a content host, as from a search engine. */
const find = (who: Traveller, path = HARBOUR) => who.browser.open(CONTENT + path);
const expectArticle = (who: Traveller, rest = HARBOUR) => who.see(rig.documents + rest, '#paid');

async function signIn(who: Traveller, wish: Omit<InvitationRequest, 'name'>, name: string): Promise<void> {
  const invitation = await rig.invite({ name, ...wish });
  await who.browser.open(invitationLink(invitation, rig.account, rig.publisher.root.id));
  await who.see(at('/-/join'), '#as:not([hidden])');
  await who.browser.click('#here button');
  await who.see(`${rig.documents}/`, 'title');
  await expect.poll(() => who.browser.evaluate('document.title').catch(String)).toMatch(/Front|index/);
}

async function pay(who: Traveller): Promise<void> {
  await who.tap(at('/-/subscribe'), '#subscribe button');
  await who.tap(`${TILL}/pay/daily`, 'button.first');
}

async function typeCode(who: Traveller, mail: string): Promise<void> {
  await who.type(at('/-/mail'), '#code', codeInMail(await smtp.take(mail)));
}

interface Journey {
  readonly name: string;
  readonly taps: number;
  readonly fields: number;
  /** @param mail - an address of its own @param other - has a browser of their own */
  readonly go: (who: Traveller, mail: string, other: () => Promise<Traveller>) => Promise<void>;
}

const JOURNEYS: readonly Journey[] = [
  {
    name: 'a subscriber is led on by one tap, and at the next article by none',
    ...{ taps: 1, fields: 0 },
    go: async (who, mail) => {
      await signIn(who, {}, mail);
      await find(who);
      await who.tap(CONTENT, '#read .go');
      await expectArticle(who);
      await find(who, TIDE);
      await expectArticle(who, TIDE);
    },
  },
  {
    name: 'a subscriber is led on at once where the publisher leads everybody on',
    ...{ taps: 0, fields: 0 },
    go: async (who, mail) => {
      await signIn(who, {}, mail);
      await find(who, LED);
      await expectArticle(who, LED);
    },
  },
  {
    name: 'a stranger begins a trial',
    ...{ taps: 2, fields: 2 },
    go: async (who, mail) => {
      await find(who);
      await who.tap(CONTENT, '#read .go');
      await who.type(at(HARBOUR), '#read input[type=email]', mail);
      await who.tap(at(HARBOUR), '#read form button');
      await typeCode(who, mail);
      await expectArticle(who);
    },
  },
  {
    name: 'a stranger buys a plan, of which the one that has the article is chosen already',
    ...{ taps: 3, fields: 1 },
    go: async (who, mail) => {
      await find(who);
      await who.tap(CONTENT, '#read a[href*="/-/subscribe?"]');
      await who.tap(at('/-/subscribe'), '#subscribe button');
      await who.type(`${TILL}/pay/daily`, '#email', mail);
      await who.tap(`${TILL}/pay/daily`, 'button.first');
      await expectArticle(who);
    },
  },
  {
    name: 'a stranger opens a gift',
    ...{ taps: 1, fields: 0 },
    go: async (who, mail, other) => {
      const giver = await other();
      await signIn(giver, {}, mail);
      await giver.browser.open(at(`/-/give?to=${HARBOUR}`));
      await giver.tap(at('/-/give'), '#give button');
      await giver.see(at('/-/give'), '#link');
      await who.browser.open(await giver.browser.evaluate<string>('document.querySelector("#link").value'));
      await who.tap(at('/-/gift'), '#gift button');
      await expectArticle(who);
    },
  },
  {
    name: 'a reader whose subscription has ended renews it',
    ...{ taps: 4, fields: 0 },
    go: async (who, mail) => {
      await signIn(who, { plan: 'daily', until: rig.server.state.now() + 60 }, mail);
      rig.passTime(61);
      await find(who);
      await who.tap(CONTENT, '#read .go');
      await who.tap(at(HARBOUR), '#read .go');
      await pay(who);
      await expectArticle(who);
    },
  },
  {
    name: 'a reader of another plan takes the one that has the article',
    ...{ taps: 4, fields: 0 },
    go: async (who, mail) => {
      await signIn(who, { plan: 'monday' }, mail);
      await find(who);
      await who.tap(CONTENT, '#read .go');
      await who.tap(at(HARBOUR), '#read .go');
      await pay(who);
      await expectArticle(who);
    },
  },
  {
    name: 'a stranger has the link that somebody copied from the address bar, and begins a trial',
    ...{ taps: 1, fields: 2 },
    go: async (who, mail) => {
      await who.browser.open(rig.documents + HARBOUR);
      await who.type(at('/-/enter'), '#read input[type=email]', mail);
      await who.tap(at('/-/enter'), '#read form button');
      await typeCode(who, mail);
      await expectArticle(who);
    },
  },
  {
    name: 'a subscriber signs in by mail, and comes back to the place in the article',
    ...{ taps: 2, fields: 2 },
    go: async (who, mail) => {
      await rig.invite({ name: mail });
      await find(who, `${HARBOUR}?from=mail#paid`);
      await who.tap(CONTENT, '#read a[href*="/-/sign-in?"]');
      await who.type(at('/-/sign-in'), '#mail-name', mail);
      await who.tap(at('/-/sign-in'), '#by-mail button');
      await typeCode(who, mail);
      await expectArticle(who, `${HARBOUR}?from=mail#paid`);
    },
  },
];

const BROWSERS = [
  ['Chromium', startChromium],
  ['Firefox', startFirefox],
  ['WebKit', startWebkit],
] as const;

describe.each(BROWSERS)('%s', (name, start) => {
  it.each(JOURNEYS.map((journey) => [journey.name, journey] as const))('%s', async (_name, { taps, fields, go }) => {
    const begin = async () => {
      const browser = await start({ proxy: network.port, downloads: temporaryFolder() });
      onTestFinished(() => browser.close());
      return new Traveller(browser);
    };
    const who = await begin();
    await go(who, `${++travellers}@${name.toLowerCase()}.example`, begin);
    expect(who.cost).toEqual({ taps, fields });
  });
});

let travellers = 0;

it('a messenger that is sent the address of the article at any origin gets its title, its picture, and nothing that is paid for', async () => {
  const headers = { 'user-agent': 'WhatsApp/2.23.20.0', accept: '*/*' };
  for (const origin of [rig.account, rig.documents, CONTENT]) {
    const { body, statusCode } = await request(origin + HARBOUR, { headers });
    const text = await body.text();
    expect([origin, statusCode]).toEqual([origin, 200]);
    expect(text).toContain(`<meta property="og:title" content="${HARBOUR}">`);
    expect(text).toContain(`<meta property="og:image" content="${CONTENT}/boat.png">`);
    expect(text).toContain(`<link rel="canonical" href="${CONTENT}${HARBOUR}">`);
    expect(text).not.toContain('Ships');
  }
});
