/** Pages that readers give away, request by request. docs/spec/web-reader.md, "Gifts" */
import { beforeAll, expect, it } from 'vitest';
import { deleteSubscriber, exportSubscriber } from '../../keyserver/sign-in/own-account.ts';
import { newestAudit } from '../../keyserver/storage/audit.ts';
import { workEachMinute } from '../../keyserver/storage/each-minute.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { logged, rigForFile, rigForTest } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createReader, type Page, type Reader } from '../support/reading-site-visitor.ts';
import { danglingRows } from '../support/store.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const OPENED = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const LOADING = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
const TERMS = { days: 14, openings: 3, perMonth: 4 };
const LETTER = `<!doctype html><title>Letter</title><link rel="stylesheet" href="letter.css"><h1>Letter</h1>
  <img src="a.png" srcset="b.png 2x, /c.png 640w"><img src="/next-day.png"><iframe src="/second.html"></iframe>
  <video poster="/poster.png"></video><img src="https://elsewhere.example/second.png"><a href="/second.png">Second</a>`;
const SECOND = '<h1>Second</h1>';
const LOADED = ['/letter.css', '/a.png', '/b.png', '/c.png', '/poster.png'];

const rig = rigForFile();
beforeAll(async () => {
  const plans = [{ name: 'daily', title: 'Daily', price: '€6 a month' }];
  rig.publisher.publication.setSettings({ ...TEST_SETTINGS, gifts: TERMS, plans });
  await definePlan(rig.server.state, { name: 'daily', title: 'Daily', sets: ['day-*'] });
  const html = { mediaType: 'text/html', set: 'day-1' };
  await publish(rig.publisher, rig.host, { ...html, path: '/letter.html', content: LETTER, gzip: true });
  await publish(rig.publisher, rig.host, { ...html, path: '/second.html', content: SECOND });
  await publish(rig.publisher, rig.host, { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' });
  const picture = (path: string, set = 'day-1') =>
    publish(rig.publisher, rig.host, { path, content: path, mediaType: 'image/png', set });
  for (const path of [...LOADED, '/second.png']) await picture(path);
  await picture('/next-day.png', 'day-2');
});

const join = (name: string) => rig.join(name, { sets: ['day-*'] });

/** Makes a gift as its page does. */
async function give(reader: Reader, to = '/letter.html') {
  const { status, text } = await reader.post('/-/give', { to });
  const [, link = ''] = /id="link" readonly value="([^"]+)"/.exec(text) ?? [];
  expect([status, link.replace(/#.*/, '')]).toEqual([200, `${rig.server.readingUrl}/-/gift?to=${to}`]);
  return { to, secret: link.replace(/.*#/, '') };
}

/** Opens a gift as a page of the account does. */
function open(stranger: Reader, link: Record<string, string>, headers = {}): Promise<Page> {
  const sent = { origin: rig.server.readingUrl, 'content-type': 'application/x-www-form-urlencoded', ...headers };
  return stranger.documents.post('/-/gift', link, sent);
}

/** The number of the first gift in an account. */
const giftOf = async (reader: Reader) =>
  /name="gift" value="(\d+)"/.exec((await reader.get('/-/account')).text)?.[1] ?? '';

/** Tells whether a browser gets what was published at an address, and nothing in its place. */
async function reads(stranger: Reader, path: string): Promise<boolean> {
  const [file = ''] = path.split('?');
  const { text } = await stranger.documents.get(path, file.endsWith('.html') ? OPENED : LOADING);
  const [published = ''] = text.split('<aside class="wispr-gift"');
  return published === (file === '/letter.html' ? LETTER : file === '/second.html' ? SECOND : file);
}

const refusal = ({ status, headers }: Page) => [status, headers['wispr-refusal']];
const REFUSED = [403, 'gift-refused'];

it('opens the page and what it loads, again and again for a day, and for whoever has the link', async () => {
  const anna = await join('anna');
  const offer = await anna.get('/-/give?to=/letter.html');
  expect(offer.text).toMatch(/opens this page 3 times, until .*You have 4 left this month/s);
  const link = await give(anna);
  const stranger = createReader(rig.server);
  const opened = await open(stranger, link);
  expect([opened.status, opened.headers.location]).toEqual([303, `${rig.server.documentsUrl}/letter.html?wispr-gift`]);
  expect(opened.headers['referrer-policy']).toBe('no-referrer');
  for (const path of ['/letter.html?wispr-gift', '/letter.html', ...LOADED])
    expect([path, await reads(stranger, path)]).toEqual([path, true]);
  expect((await stranger.documents.get('/letter.html')).text).toBe(LETTER); // old browsers ask so
  await open(stranger, link); // the same browser: nothing more is used up
  expect((await anna.get('/-/account')).text).toMatch(/<a href="\/letter\.html">Letter<\/a>.*opens 2 times more/s);
  rig.passTime(86_401);
  expect(await reads(stranger, '/letter.html')).toBe(false);
  rig.passTime(-86_401);
  await stranger.documents.post('/-/leave', {}, { origin: rig.server.readingUrl });
  expect(await reads(stranger, '/letter.html')).toBe(false);
});

it('says at the end of the page that it is a gift, and what its teaser offers, to whoever may not read it otherwise', async () => {
  const anna = await join('ada');
  const link = await give(anna);
  const stranger = createReader(rig.server);
  await open(stranger, link);
  const given = await stranger.documents.get('/letter.html?wispr-gift', OPENED);
  expect(given.text.startsWith(LETTER)).toBe(true);
  expect(given.text).toMatch(
    /<aside class="wispr-gift" lang="en">.*A subscriber of .* gave you this article\..*Read on with a subscription.*Daily &#183; &#8364;6 a month/s, // plain text
  );
  expect(given.text).toContain(`<a href="${rig.server.readingUrl}/-/subscribe?to=/letter.html">Subscribe</a>`);
  expect(given.headers.etag).toBeUndefined(); // the published text has it
  await open(anna, link);
  expect((await anna.documents.get('/letter.html?wispr-gift', OPENED)).text).toBe(LETTER);
});

it('attack 149: opens no other page, nothing of another page or set, and signs nobody in', async () => {
  const link = await give(await join('berta'));
  const stranger = createReader(rig.server);
  expect(refusal(await open(stranger, { ...link, to: '/second.html' }))).toEqual(REFUSED);
  await open(stranger, link);
  for (const path of ['/second.html', '/second.html?wispr-gift', '/second.png', '/next-day.png'])
    expect([path, await reads(stranger, path)]).toEqual([path, false]);
  expect((await stranger.get('/-/account')).status).toBe(401);
  const cookies = [...stranger.cookies, ...stranger.documents.cookies].map(([name]) => name);
  expect(cookies).toEqual([`wispr-gift-${rig.server.ports.documents}`]);
  expect((await stranger.documents.get('/letter.html')).headers['set-cookie']).toBeUndefined();
});

it('attack 149: has its secret in no log, no address and no database', async () => {
  const carla = await join('carla');
  const link = await give(carla);
  const stranger = createReader(rig.server);
  const page = await stranger.get(`/-/gift?to=${link.to}`, OPENED);
  expect(page.text).toContain('<meta property="og:title" content="Letter">');
  expect(page.status).toBe(200);
  expect(page.headers).toMatchObject({ 'referrer-policy': 'strict-origin', 'cache-control': 'no-store' });
  const opened = await open(stranger, link);
  const [cookie = ''] = stranger.documents.cookies.values();
  const rows = JSON.stringify([
    await rig.server.state.database.all('SELECT * FROM gifts'),
    await newestAudit(rig.server.state.database, {}, 10),
    await exportSubscriber(rig.server.state, await rig.idOf('carla')),
  ]);
  for (const secret of [link.secret, cookie])
    expect([secret.length, (rig.log() + rows + opened.headers.location).includes(secret)]).toEqual([43, false]);
  expect(rows).toContain('"target":"/letter.html"');
  expect(rows).toContain('"who":"reader carla","action":"gift","about":"carla","details":{"days":14,"openings":3}');
});

it('attack 149: is used up by its own button alone, and by nothing that a foreign page does', async () => {
  const link = await give(await join('dora'));
  const stranger = createReader(rig.server);
  const navigated = { 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'same-site' };
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: rig.server.documentsUrl },
    { ...navigated, 'sec-fetch-dest': 'iframe' },
  ])
    expect((await open(stranger, link, headers)).status).toBe(403);
  await stranger.get(`/-/gift?to=${link.to}`); // a preview
  const framed = await stranger.get('/-/gift?to=/letter.html', { ...navigated, 'sec-fetch-dest': 'iframe' });
  expect(framed.status).toBe(403);
  for (let times = 0; times < TERMS.openings; times++)
    expect((await open(createReader(rig.server), link)).status).toBe(303);
  expect(refusal(await open(stranger, link))).toEqual(REFUSED);
});

it('opens as often as it says where many open it at once, and as many are made in a month', async () => {
  const emil = await join('emil');
  const link = await give(emil);
  const opened = await Promise.all(Array.from({ length: 8 }, () => open(createReader(rig.server), link)));
  expect(opened.filter(({ status }) => status === 303)).toHaveLength(TERMS.openings);
  const made = await Promise.all(Array.from({ length: 8 }, () => emil.post('/-/give', { to: '/letter.html' })));
  expect(made.filter(({ status }) => status === 200)).toHaveLength(TERMS.perMonth - 1);
  await emil.post('/-/take-back', { gift: await giftOf(emil) });
  expect((await emil.post('/-/give', { to: '/letter.html' })).status).toBe(403); // gifts taken back count
  const [newest] = await newestAudit(rig.server.state.database, {}, 1);
  expect(newest).toMatchObject({ who: 'reader emil', action: 'gift-withdrawn', about: 'emil' });
});

it('ends when it is taken back by who gave it, or too old, and with the rights of the giver', async () => {
  const [franz, other] = [await join('franz'), await join('otto')];
  const link = await give(franz);
  const [stranger, late] = [createReader(rig.server), createReader(rig.server)];
  await open(stranger, link);
  const gift = await giftOf(franz);
  await other.post('/-/take-back', { gift });
  expect(await reads(stranger, '/letter.html')).toBe(true);
  await franz.post('/-/take-back', { gift });
  expect([await reads(stranger, '/letter.html'), await reads(stranger, '/a.png')]).toEqual([false, false]);
  expect(refusal(await open(late, link))).toEqual(REFUSED);

  const old = await give(franz);
  rig.passTime(TERMS.days * 86_400 + 1);
  expect(refusal(await open(late, old))).toEqual(REFUSED);
  rig.passTime(-TERMS.days * 86_400 - 1);

  const lapsing = await give(await rig.join('gerd', { sets: ['day-*'], until: rig.server.state.now() + 60 }));
  await open(stranger, lapsing);
  rig.passTime(61);
  expect([await reads(stranger, '/letter.html'), refusal(await open(late, lapsing))]).toEqual([false, REFUSED]);

  const revoked = await give(other);
  await open(stranger, revoked);
  await revokeSubscriber(rig.server.state, 'otto');
  expect([await reads(stranger, '/letter.html'), refusal(await open(late, revoked))]).toEqual([false, REFUSED]);

  const deleted = await give(await join('hugo'));
  await open(stranger, deleted);
  const { state } = rig.server;
  await deleteSubscriber(state, { id: await rig.idOf('hugo'), name: 'hugo' });
  expect([await reads(stranger, '/letter.html'), await danglingRows(state.database, rig.config)]).toEqual([false, []]);
});

it('is made of protected pages only, by readers of these, where the publisher wants it', async () => {
  const ida = await rig.join('ida', { sets: ['day-2'] });
  for (const to of ['/letter.html', '/', '/a.png', '/nothing.html']) {
    const status = to === '/nothing.html' ? 404 : 403;
    expect([to, (await ida.get(`/-/give?to=${to}`)).status]).toEqual([to, status]);
    expect([to, (await ida.post('/-/give', { to })).status]).toEqual([to, status]);
  }
  const nobody = createReader(rig.server);
  const asked = await nobody.get('/-/give?to=/letter.html');
  expect([asked.status, /name="to" value="([^"]*)"/.exec(asked.text)?.[1]]).toEqual([401, '/-/give?to=%2Fletter.html']);
  expect((await ida.post('/-/give', { to: '/letter.html' }, { origin: 'https://evil.example' })).status).toBe(403);
  const ilse = await join('ilse');
  const link = await give(ilse);
  rig.publisher.publication.setSettings(TEST_SETTINGS);
  await publish(rig.publisher, rig.host, { path: '/x.txt', content: 'x', mediaType: 'text/plain' });
  expect((await ilse.get('/-/give?to=/letter.html')).status).toBe(404);
  expect(refusal(await open(createReader(rig.server), link))).toEqual(REFUSED);
});

it('attack 149: is not found by guessing', async () => {
  const guessed = await rigForTest({ limits: { joinsPerAddress: 3 } });
  const guess = async (secret: string) => {
    const { documents } = createReader(guessed.server);
    const sent = { origin: guessed.server.readingUrl };
    return (await documents.post('/-/gift', { to: '/letter.html', secret }, sent)).status;
  };
  expect([await guess('a'), await guess('b'), await guess('c'), await guess('d')]).toEqual([403, 403, 403, 429]);
});

it('is forgotten when it has ended, and its month is over', async () => {
  const { state } = rig.server;
  const count = async () => (await state.database.all('SELECT id FROM gifts')).length;
  const cleanUp = () => workEachMinute(state, logged().log, false)();
  rig.passTime(TERMS.days * 86_400 + 1);
  await cleanUp();
  expect([(await count()) > 0, await state.database.all('SELECT gift FROM gift_visits')]).toEqual([true, []]);
  rig.passTime(31 * 86_400);
  await cleanUp();
  expect(await count()).toBe(0);
});
