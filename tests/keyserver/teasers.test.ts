/** Teasers at both origins of the reading site, request by request: rows 151 and 152 of the attack list. */
import { setTimeout } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { rigForFile, rigForTest } from '../support/keyserver-rig.ts';
import { mailSettings } from '../support/mail-server.ts';
import { createPublisher, fileOf, publish, type TestDocument } from '../support/publisher-with-sets.ts';
import { createReader, createVisitor, type Page, type Reader, type Visitor } from '../support/reading-site-visitor.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const DAY = 86_400;
const PAID = 'The harbour master took the tide home in a bucket.';
const EXCERPT = 'The great tide arrived on Tuesday.';
const HEAD = `<title>The great tide</title><meta name="robots" content="max-snippet:50"><meta name="author" content="Tam">
<meta property="og:image" content="/tide.png"><meta property="og:title" content="The great tide comes in">`;
const ARTICLE = {
  path: '/tide.html',
  content: `<!doctype html><html lang="en"><head>${HEAD}</head><body><p data-wispr-excerpt>${EXCERPT}</p><p>${PAID}</p>`,
  mediaType: 'text/html; charset=utf-8',
  set: 'day-2',
  gzip: true,
} satisfies TestDocument;
const FILM = { path: '/tide.mp4', content: PAID, mediaType: 'video/mp4', set: 'day-2' } satisfies TestDocument;
const PICTURE = { path: '/tide.png', content: 'picture', mediaType: 'image/png' } satisfies TestDocument;
const PLANS = [
  { name: 'first', title: 'The first day' },
  { name: 'weekdays', title: 'The weekday paper', price: '€6 a month', buy: 'https://pay.example/' },
];
const SETTINGS = { ...TEST_SETTINGS, accent: '#a3301d', logo: PICTURE.path, plans: PLANS };

const WINDOW = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const OLD_WINDOW = { accept: 'text/html,*/*' };
const MESSENGER = { 'user-agent': 'facebookexternalhit/1.1', accept: '*/*' };

const rig = rigForFile();
let account: Visitor;
let documents: Visitor;
beforeAll(async () => {
  const { publication } = rig.publisher;
  const titles = [
    { set: 'day-{dd}', title: 'Issue {dd}' },
    { set: 'day-2', title: 'The issue of Tuesday' },
  ];
  publication.setSettings({ ...SETTINGS, titles });
  for (const document of [ARTICLE, FILM, PICTURE]) await publish(rig.publisher, rig.host, document);
  await definePlan(rig.server.state, { name: 'first', title: 'The first day', sets: ['day-1'] });
  await definePlan(rig.server.state, { name: 'weekdays', title: 'The weekday paper', sets: ['day-*'] });
});
beforeEach(() => {
  rig.host.handlers.clear();
  account = createVisitor(rig.server.readingUrl);
  documents = createVisitor(rig.server.documentsUrl);
});

/** Insists on the teaser: of what it may have, and nothing else. */
function expectTeaser({ status, text, headers }: Page, code: string): string {
  expect([status, headers['wispr-refusal'], headers['cache-control']]).toEqual([200, code, 'no-store']);
  expect(text).toContain(EXCERPT);
  expect(text).not.toContain(PAID.slice(4, 20));
  return text;
}

/** The bar of a teaser, without its markup. */
const barOf = (text: string) =>
  (/<aside.*<\/aside>/s.exec(text)?.[0] ?? '').replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

describe('a stranger', () => {
  it.each([
    ['a window', WINDOW],
    ['a window of an old browser', OLD_WINDOW],
    ['a messenger', MESSENGER],
  ])('gets the teaser at the address of a page, asked for by %s', async (_who, headers) => {
    for (const query of ['', '?q=1']) {
      const text = expectTeaser(await account.get(`/tide.html${query}`, headers), 'not-signed-in');
      expect(text).toContain(`<link rel="canonical" href="${rig.host.origin}/tide.html">`);
      expect(text).toContain(`<meta property="og:image" content="${rig.host.origin}/tide.png">`);
      expect(text).toContain('<meta name="robots" content="max-snippet:50">');
      expect(text).toContain('"isAccessibleForFree":false');
      expect(text).toContain(`href="${rig.server.readingUrl}/-/subscribe?to=/tide.html${encodeURIComponent(query)}"`);
    }
  });

  it('is led from the documents to the teaser by a window, whose address stays that of the page', async () => {
    const begun = await documents.get('/tide.html?q=1', WINDOW);
    const entrance = `${rig.server.readingUrl}/-/enter?to=${encodeURIComponent('/tide.html?q=1')}`;
    expect([begun.status, begun.headers.location]).toEqual([303, entrance]);
    expectTeaser(await account.get('/-/enter?to=/tide.html', WINDOW), 'not-signed-in');
    expect((await account.get('/-/sign-in?to=/tide.html')).text).toContain('<strong>The great tide comes in</strong>');
    const elsewhere = await account.get('/-/enter?to=/nothing.html', WINDOW);
    expect([elsewhere.status, elsewhere.text.includes('id="sign-in"')]).toEqual([401, true]);
  });

  it('attack 152: meets no field and no script at the documents, where published scripts run', async () => {
    const { text, headers } = await documents.get('/tide.html', MESSENGER);
    expectTeaser({ text, headers, status: 200, body: Buffer.alloc(0) }, 'not-signed-in');
    expect(text).not.toMatch(/<form|<input|<script(?! type="application\/ld\+json")/);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-.*form-action 'none'/);
    const window = await documents.get('/tide.html', WINDOW);
    expect([window.status, window.text.includes('<')]).toEqual([303, false]);
  });

  it('gets no byte beyond the excerpt, whatever the request', async () => {
    const { etag } = (await (await rig.join('owner')).get('/tide.html')).headers;
    for (const visitor of [account, documents])
      for (const more of [{}, { range: 'bytes=0-900' }, { 'if-none-match': String(etag) }, { 'if-match': '"x"' }])
        for (const headers of [MESSENGER, { ...MESSENGER, 'accept-encoding': 'gzip, br' }, WINDOW]) {
          const { status, text } = await visitor.get('/tide.html', { ...headers, ...more });
          expect(status).toBeOneOf([200, 303]);
          expect(text).not.toContain('bucket');
        }
    const head = await account.get('/tide.html', MESSENGER, 'HEAD');
    expect([head.status, head.headers['wispr-refusal'], head.text]).toEqual([200, 'not-signed-in', '']);
    expect((await documents.get('/tide.html', MESSENGER, 'HEAD')).status).toBe(200);
    for (const dest of ['iframe', 'script', 'image', 'empty'])
      for (const visitor of [account, documents]) {
        const loaded = await visitor.get('/tide.html', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': dest });
        expect([dest, loaded.status >= 400, loaded.text.includes(EXCERPT)]).toEqual([dest, true, false]);
      }
  });

  it('gets the bar alone of what is no page, in a window, and a refusal elsewhere', async () => {
    const { status, text } = await account.get(FILM.path, WINDOW);
    const [, headline] = /<h1>(.*)<\/h1>/.exec(text) ?? [];
    expect([status, headline, text.includes('bucket')]).toEqual([200, 'For subscribers', false]);
    expect((await documents.get(FILM.path, MESSENGER)).status).toBe(401);
    expect((await account.get(FILM.path, MESSENGER)).headers.location).toBe(rig.server.documentsUrl + FILM.path);
  });

  it('sees the bar alone where the key server has no key for the page', async () => {
    const { sets } = await createPublisher(['day-9']);
    await publish({ ...rig.publisher, sets }, rig.host, { ...ARTICLE, path: '/new.html', set: 'day-9' });
    const { status, text } = await account.get('/new.html', WINDOW);
    expect([status, text.includes('For subscribers'), text.includes(EXCERPT)]).toEqual([200, true, false]);
  });
});

describe('a teaser', () => {
  it('attack 151: is made of the signed page, whatever a content host makes of its fallback page', async () => {
    rig.host.files.set(ARTICLE.path, Buffer.from('<title>Changed</title><script src="//evil.example"></script>'));
    for (const page of [
      await account.get('/tide.html', WINDOW),
      await account.get('/-/enter?to=/tide.html', WINDOW),
      await documents.get('/tide.html', MESSENGER),
    ])
      expect(expectTeaser(page, 'not-signed-in')).not.toMatch(/Changed|evil\.example/);
    expect(rig.host.requests.filter(({ url }) => url === ARTICLE.path)).toEqual([]);
  });

  it('attack 151: is not shown of an object that was changed, and of none that did not come', async () => {
    for (const [path, code, offset] of [
      ['/head.html', 'head-unexpected', 30],
      ['/block.html', 'block-digest', -3],
      ['/gone.html', 'object-missing', undefined],
    ] as const) {
      await publish(rig.publisher, rig.host, { ...ARTICLE, path });
      const file = fileOf(rig.publisher, path);
      const bytes = rig.host.files.get(file) ?? new Uint8Array();
      const at = offset && (offset + bytes.length) % bytes.length;
      if (at === undefined) rig.host.files.delete(file);
      else rig.host.files.set(file, bytes.with(at, (bytes[at] ?? 0) ^ 1));
      for (const [visitor, headers] of [
        [account, WINDOW],
        [documents, MESSENGER],
      ] as const) {
        const { status, text } = await visitor.get(path, headers);
        expect([path, status, text.includes(`<code>${code}</code>`)]).toEqual([path, 502, true]);
        expect(text).not.toContain(EXCERPT);
      }
    }
  });

  it('attack 65: is read once for many who ask at a time, and its page not again', async () => {
    await publish(rig.publisher, rig.host, { ...ARTICLE, path: '/many.html' });
    const file = fileOf(rig.publisher, '/many.html');
    rig.host.handlers.set(file, async (_request, response) => {
      await setTimeout(100);
      response.end(rig.host.files.get(file));
    });
    await Promise.all(Array.from({ length: 20 }, () => account.get('/many.html', WINDOW)));
    expectTeaser(await documents.get('/many.html', MESSENGER), 'not-signed-in');
    expect(rig.host.requests.filter(({ url }) => url === file)).toHaveLength(1);
  });

  it('attack 152: has its one field at the account’s origin alone, where nothing runs', async () => {
    const { publisher, host, server } = await rigForTest({ config: { mail: mailSettings('smtp://127.0.0.1:9') } });
    publisher.publication.setSettings({ ...SETTINGS, plans: [{ name: 'weekdays', title: 'Weekdays', trial: 14 }] });
    await definePlan(server.state, { name: 'weekdays', sets: ['day-*'] });
    await publish(publisher, host, ARTICLE);
    const { headers, text } = await createVisitor(server.readingUrl).get('/tide.html?q=1', WINDOW);
    expect(headers['content-security-policy']).toMatch(
      RegExp(
        `^default-src 'none'; style-src 'sha256-[^']+'; img-src data: ${server.documentsUrl}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$`,
      ),
    );
    expect(text).not.toMatch(/<script(?! type="application\/ld\+json")/);
    expect(text.match(/<(?:form|input)[^>]*(?:action|name)="[^"]*"/g)).toHaveLength(3);
    expect(text).toContain('action="/-/sign-up"><input type="hidden" name="to" value="/tide.html?q=1">');
    const { text: elsewhere } = await createVisitor(server.documentsUrl).get('/tide.html', MESSENGER);
    expect(elsewhere).toContain('free for 14 days');
    expect(elsewhere).not.toMatch(/<form|<input/);
  });
});

describe('the teaser of a page whose day no plan on sale covers any more', () => {
  const now = Math.floor(Date.now() / 1000);
  const dayOf = (time: number) => new Date(time * 1000).toISOString().slice(0, 10);
  const end = now + 3600;
  const YESTERDAY = `paper-${dayOf(now + 2 * DAY)}`;
  async function rigOfYesterday() {
    const old = await rigForTest({ sets: [YESTERDAY], startAt: now });
    const plans = [
      { name: 'dated', title: 'The daily paper', price: '€6 a month', trial: 14, buy: 'https://pay.example/' },
      { name: 'archive', title: 'The archive', price: '€9 a month', buy: 'https://pay.example/archive' },
    ];
    old.publisher.publication.setSettings({ ...SETTINGS, plans });
    await publish(old.publisher, old.host, { ...ARTICLE, set: YESTERDAY });
    await definePlan(old.server.state, { name: 'dated', title: 'The daily paper', sets: ['paper-*'], zone: 'UTC' });
    const { readingUrl, documentsUrl, state } = old.server;
    const barAt = async (visitor: Visitor, headers: Record<string, string> = WINDOW) =>
      barOf((await visitor.get('/tide.html', headers)).text);
    const ended = await old.join('ended', { plan: 'dated', until: end });
    old.passTime(3 * DAY);
    const reader = createVisitor(readingUrl);
    for (const [name, value] of ended.cookies) reader.cookies.set(name, value);
    const strangers = () =>
      Promise.all([barAt(createVisitor(readingUrl)), barAt(createVisitor(documentsUrl), MESSENGER)]);
    const sellArchive = () => definePlan(state, { name: 'archive', title: 'The archive', sets: ['paper-*'] });
    return { barAt, reader, strangers, sellArchive };
  }

  it('promises nothing to strangers, and offers the plan that opens it, if there is one', async () => {
    const { strangers, sellArchive } = await rigOfYesterday();
    for (const bar of await strangers()) {
      expect(bar).toContain('Subscribe');
      expect(bar).not.toMatch(/The daily paper|free|€/);
    }
    await sellArchive();
    for (const bar of await strangers()) {
      expect(bar).toContain('The archive · €9 a month');
      expect(bar).not.toContain('free');
    }
  });

  it('asks nobody to renew what would not open it', async () => {
    const { barAt, reader, sellArchive } = await rigOfYesterday();
    const bar = await barAt(reader);
    const day = new Date(end * 1000).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
    expect(bar).toContain(`The daily paper ended on ${day}.`);
    expect(bar).not.toMatch(/Renew|has it/);
    await sellArchive();
    expect(await barAt(reader)).toMatch(/\. The archive has it, for €9 a month\. Get The archive/);
  });
});

describe('pictures of a teaser', () => {
  const asPicture = () => ({
    'sec-fetch-site': 'same-site',
    'sec-fetch-mode': 'no-cors',
    'sec-fetch-dest': 'image',
    referer: `${rig.server.readingUrl}/`,
  });

  it('come from the documents, for a page of the account, where everybody may see them', async () => {
    const { text, headers } = await account.get('/tide.html', WINDOW);
    const { documentsUrl } = rig.server;
    expect(text.match(/src="([^"]*)"/g)).toEqual([`src="${documentsUrl}/tide.png"`, `src="${documentsUrl}/tide.png"`]);
    expect(headers['referrer-policy']).toBe('strict-origin');
    const picture = await documents.get(PICTURE.path, asPicture());
    expect([picture.status, picture.text]).toEqual([200, PICTURE.content]);
    expect(picture.headers['cross-origin-resource-policy']).toBe('cross-origin');
  });

  it('attack 78: are given to no page of another origin, and to none with a right of the reader', async () => {
    const anna = await rig.join('anna');
    for (const [path, changes] of [
      [PICTURE.path, { referer: 'https://evil.example/' }],
      [PICTURE.path, { referer: `${rig.server.readingUrl}/-/account` }],
      [PICTURE.path, { 'sec-fetch-dest': 'script' }],
      [FILM.path, {}],
      [ARTICLE.path, {}],
    ] as const) {
      const { status, text } = await anna.documents.get(path, { ...asPicture(), ...changes });
      expect([path, status, text]).toEqual([path, path === PICTURE.path ? 403 : 401, '']);
    }
  });

  it('attack 65: count as documents where a teaser loads them, and other sites’ pages count as nothing', async () => {
    const limited = await rigForTest({ limits: { documentsPerAddress: 2 } });
    await publish(limited.publisher, limited.host, PICTURE);
    const visitor = createVisitor(limited.server.documentsUrl);
    const headers = { ...asPicture(), referer: `${limited.server.readingUrl}/` };
    const ask = async (referer: string) => (await visitor.get(PICTURE.path, { ...headers, referer })).status;
    for (let times = 0; times < 5; times++) expect(await ask('https://evil.example/')).toBe(403);
    const own = () => ask(headers.referer);
    expect([await own(), await own(), await own()]).toEqual([200, 200, 429]);
  });
});

describe('the way between account and documents', () => {
  const open = (reader: Reader, headers: Record<string, string> = WINDOW) =>
    reader.documents.get('/tide.html', headers);
  /** Asks at the account's origin, where a document has an address too. */
  const visit = async (reader: Reader) => {
    const page = createVisitor(rig.server.readingUrl);
    for (const [name, value] of reader.cookies) page.cookies.set(name, value);
    return page.get('/tide.html', WINDOW);
  };

  it('a reader who may read is led on from the account, and reads', async () => {
    const anna = await rig.join('berta', { plan: 'weekdays' });
    const led = await visit(anna);
    expect([led.status, led.text.includes(`action="${rig.server.documentsUrl}/tide.html"`)]).toEqual([200, true]);
    expect((await open(anna)).text).toContain(PAID);
  });

  it('a reader of another plan is told what the page is in, what they have, and what would open it', async () => {
    const carla = await rig.join('carla', { plan: 'first' });
    expect((await open(carla)).headers.location).toBe(`${rig.server.readingUrl}/tide.html`);
    const text = expectTeaser(await visit(carla), 'not-entitled');
    const bar = barOf(text);
    expect(bar).toContain('This is in “The issue of Tuesday”');
    expect(bar).toContain('You have The first day. The weekday paper has it, for €6 a month.');
    expect(text).toContain(`href="${rig.server.readingUrl}/-/subscribe?to=/tide.html"`);
    expect(text).toContain(`href="${rig.server.readingUrl}/-/account"`);
    expectTeaser(await open(carla, MESSENGER), 'not-entitled');
  });

  it('a reader whose subscription has ended is told when, and how to go on', async () => {
    const now = rig.server.state.now();
    const dora = await rig.join('dora', { plan: 'weekdays', until: now + DAY });
    expect((await open(dora)).status).toBe(200);
    rig.passTime(2 * DAY);
    const bar = barOf(expectTeaser(await visit(dora), 'lapsed'));
    rig.passTime(-2 * DAY);
    const day = new Date((now + DAY) * 1000).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
    expect(bar).toContain(`The weekday paper ended on ${day}.`);
    expect(bar).toContain('Renew');
  });

  it('a reader is not led round and round where account and documents do not agree', async () => {
    const emma = await rig.join('emma', { plan: 'first' });
    const page = await open(emma, { ...WINDOW, referer: `${rig.server.readingUrl}/` });
    expect([page.status, page.text.includes('<code>not-entitled</code>')]).toEqual([403, true]);
    const stranger = await documents.get('/tide.html', { ...WINDOW, referer: `${rig.server.readingUrl}/` });
    expect([stranger.status, stranger.text.includes('<code>entry-refused</code>')]).toEqual([403, true]);
  });
});

it('shows no teaser where the publication is not fresh, or was withdrawn', async () => {
  const old = await rigForTest();
  await publish(old.publisher, old.host, ARTICLE);
  const { server, host, publisher } = old;
  const visit = async () => {
    const at = { account: createVisitor(server.readingUrl), documents: createReader(server).documents };
    return [await at.account.get('/tide.html', WINDOW), await at.documents.get('/tide.html', MESSENGER)] as const;
  };
  for (const page of await visit()) expectTeaser(page, 'not-signed-in');
  const expectNone = async (code: string) => {
    const [led, refused] = await visit();
    expect([led.status, led.headers.location]).toEqual([303, `${server.documentsUrl}/tide.html`]);
    expect([refused.status, refused.text.includes(`<code>${code}</code>`)]).toEqual([502, true]);
  };
  old.passTime(30 * DAY);
  await expectNone('publication-expired');
  old.passTime(-30 * DAY);
  const { publication } = publisher;
  await publication.close(server.state.now() - 3600, { version: publication.timestampVersion + 1 });
  for (const [path, bytes] of publication.files) host.files.set(path, bytes);
  await server.publications.check();
  await expectNone('publication-withdrawn');
});
