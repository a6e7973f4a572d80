/** The publication at the reading site: rows 23, 69, 76, 80, 81 and 92 of the attack list for browsers without the Reader. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { objectUrlPathOf } from '../../core/site/path.ts';
import { type Rig, startRig } from '../support/keyserver-rig.ts';
import { fileOf, publish, setOf } from '../support/publisher-with-sets.ts';
import { createVisitor, type Page, type Visitor } from '../support/reading-site-visitor.ts';
import { signOnto } from '../support/signed-publication.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const DAY = 86_400;
const ENTERING = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const FRONT = { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' };

let rig: Rig;
let visitor: Visitor;
beforeEach(async () => {
  rig = await startRig();
  visitor = createVisitor(rig.server.documentsUrl);
  await publish(rig.publisher, rig.host, FRONT);
});
afterEach(() => rig.close());

const now = () => Math.floor(Date.now() / 1000);

async function sign(wish: Parameters<typeof signOnto>[2] = {}): Promise<void> {
  await signOnto(rig.publisher.publication, rig.host.files, wish);
  await rig.server.publications.check();
}

async function setSettings(changes: Partial<typeof TEST_SETTINGS>): Promise<void> {
  rig.publisher.publication.setSettings({ ...TEST_SETTINGS, ...changes });
  await sign();
}

function expectRefused(page: Page, status: number, code: string): void {
  expect([page.status, page.headers['cache-control']]).toEqual([status, 'no-store']);
  expect(page.text).toContain(`<code>${code}</code>`);
}

it('attack 76: says what there is; pages, redirects and headers of the content host mean nothing', async () => {
  rig.host.files.set('/unsigned.html', Buffer.from('unsigned'));
  rig.host.files.set('/unsigned.html.protected', Buffer.from('unsigned'));
  rig.host.handlers.set('/moved.html', (_, response) => response.writeHead(301, { location: '/elsewhere' }).end());
  for (const path of ['/unsigned.html', '/moved.html', '/.well-known/wispr-site', '/constructor', '/__proto__']) {
    const page = await visitor.get(path);
    expectRefused(page, 404, 'no-such-document'); // attack 81
    expect(page.text).not.toContain('unsigned<');
  }
});

it('attack 92: does not show an object that is signed well, and that the publication does not name', async () => {
  const before = rig.host.files.get(fileOf(rig.publisher, '/index.html')) ?? new Uint8Array();
  await publish(rig.publisher, rig.host, { ...FRONT, content: '<h1>Newer</h1>' });
  rig.host.files.set(fileOf(rig.publisher, '/index.html'), before);
  expectRefused(await visitor.get('/'), 502, 'head-unexpected');
  rig.publisher.publication.remove('/index.html');
  await sign();
  rig.host.files.set(objectUrlPathOf('/index.html'), before);
  expectRefused(await visitor.get('/'), 404, 'no-such-document');
});

it('finds a page at once when a link leads to it a moment after it was published', async () => {
  expect((await visitor.get('/')).status).toBe(200);
  rig.publisher.afterPublishing = async () => undefined; // no other check for 30 seconds
  await publish(rig.publisher, rig.host, { ...FRONT, path: '/new.html' });
  expect((await visitor.get('/new.html', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'image' })).status).toBe(
    404,
  );
  await expect.poll(async () => (await visitor.get('/new.html', ENTERING)).status, { timeout: 15_000 }).toBe(200);
});

it("attack 23: shows the publisher's own page with status 404, whole, and to all visitors", async () => {
  const content = '<h1>Not here</h1>'.repeat(1000);
  await publish(rig.publisher, rig.host, { path: '/404.html', content, mediaType: 'text/html' });
  await setSettings({ notFound: '/404.html' });
  const page = await visitor.get('/none', { range: 'bytes=0-3' });
  expect([page.status, page.text === content, page.headers['cache-control']]).toEqual([404, true, 'private, no-cache']);
  expect((await visitor.get('/404.html')).status).toBe(200);
  const head = await visitor.get('/none', {}, 'HEAD');
  expect([head.status, head.body.length]).toEqual([404, 0]);
});

it('follows signed redirects and clean URLs, never past the checks', async () => {
  await publish(rig.publisher, rig.host, { ...FRONT, path: '/about.html', content: 'about' });
  await publish(rig.publisher, rig.host, { ...FRONT, path: '/folder/index.html', content: 'folder' });
  const redirects = [
    { from: '/old', status: 301, to: '/about.html?x#y' },
    { from: '/own', status: 302, to: 'https://news.example/about.html' },
    { from: '/away', status: 308, to: 'https://elsewhere.example/' },
  ] as const;
  await setSettings({ cleanUrls: true, redirects });
  const to = async (path: string) => {
    const { status, headers } = await visitor.get(path);
    return [status, headers.location];
  };
  expect(await to('/old')).toEqual([301, '/about.html?x#y']);
  expect(await to('/own')).toEqual([302, '/about.html']);
  expect(await to('/away')).toEqual([308, 'https://elsewhere.example/']);
  expect(await to('/folder?q')).toEqual([308, '/folder/?q']);
  expect((await visitor.get('/about?q')).text).toBe('about');
});

it('attack 80: says when it is stale, on entering the site, and refuses after the grace period', async () => {
  await setSettings({ grace: 7 * DAY });
  const fresh = await visitor.get('/', ENTERING);
  expect([fresh.status, fresh.headers['wispr-confirmed']]).toEqual([200, expect.stringMatching(/GMT$/)]);
  rig.passTime(3 * DAY);
  const notice = await visitor.get('/?q="><script>', ENTERING);
  expect([notice.status, notice.headers['cache-control']]).toEqual([503, 'no-store']);
  expect(notice.text).toContain('was up to date 3 days ago');
  expect(notice.text).not.toContain('"><script');
  const onwards = await visitor.get('/', { ...ENTERING, 'sec-fetch-site': 'same-origin' });
  expect([onwards.status, onwards.text]).toEqual([200, FRONT.content]);
  expect((await visitor.get('/', { 'sec-fetch-dest': 'image' })).status).toBe(200);
  rig.passTime(7 * DAY);
  const refused = await visitor.get('/', ENTERING);
  expectRefused(refused, 502, 'publication-expired');
  expect(refused.text.match(/\d{4}-\d\d-\d\dT/g)?.length).toBeGreaterThanOrEqual(2); // attack 69
  rig.passTime(-10 * DAY);
});

it('attack 69: refuses where its clock is behind, showing both times', async () => {
  rig.passTime(-3 * DAY);
  const page = await visitor.get('/');
  expectRefused(page, 502, 'clock-off');
  expect(page.text.match(/\d{4}-\d\d-\d\dT/g)?.length).toBeGreaterThanOrEqual(2);
});

it('shows nothing of a publication that was withdrawn', async () => {
  const { publication } = rig.publisher;
  expect((await visitor.get('/')).status).toBe(200);
  const version = publication.timestampVersion + 1;
  await publication.close(now() - 3600, { version, expires: now() + DAY });
  for (const [path, bytes] of publication.files) rig.host.files.set(path, bytes);
  await rig.server.publications.check();
  expectRefused(await visitor.get('/'), 502, 'publication-withdrawn');
  await publish(rig.publisher, rig.host, FRONT);
  expect((await visitor.get('/')).status).toBe(200);
});

it('attack 40: keeps showing the last good publication where a newer one is not there whole', async () => {
  expect((await visitor.get('/')).status).toBe(200);
  const { publication } = rig.publisher;
  rig.publisher.afterPublishing = async () => undefined;
  await publish(rig.publisher, rig.host, { ...FRONT, content: '<h1>Newer</h1>' });
  rig.host.files.delete(`/.well-known/wispr/${publication.version}.snapshot.json`);
  await expect(rig.server.publications.check()).rejects.toMatchObject({ code: 'metadata-missing' });
  expect((await visitor.get('/')).text).toBe(FRONT.content);
});

it('attack 21: refuses a document whose set is another than the publication says', async () => {
  await publish(rig.publisher, rig.host, { ...FRONT, path: '/paid.html', set: 'day-1' });
  const object = rig.host.files.get(fileOf(rig.publisher, '/paid.html')) ?? new Uint8Array();
  const { publication } = rig.publisher;
  const entry = publication.documents.get('paid.html.protected') as { length: number };
  await publication.addEncrypted('/paid.html', setOf(rig.publisher, 'day-2').id, object, entry.length);
  await sign();
  expectRefused(await visitor.get('/paid.html'), 502, 'head-unexpected');
});

it('has the publisher’s colour and logo out of the signed settings on its own pages, and leads to the subscriptions', async () => {
  const look = { accent: '#a3301d', logo: '/front/logo.svg', subscribe: 'https://shop.example/' };
  await setSettings({ ...look, titles: [{ set: 'day-{dd}', title: 'Day {dd}' }] });
  const refused = await visitor.get('/missing.html');
  expectRefused(refused, 404, 'no-such-document');
  expect(refused.text).toContain('<img src="/front/logo.svg" alt="The Harbour News">');
  expect(refused.text).toContain('<a class="b" href="/">Front page</a>');
  expect((await visitor.get('/-/refusal.css')).text).toContain('--accent:#a3301d');
  expect((await visitor.get('/-/style.css')).text).toMatch(
    /:root\{--accent:#a3301d\}\n@media[^\n]*--accent:#[0-9a-f]{6}/,
  );
  // No published byte is on the account's origin, so no logo either.
  const account = createVisitor(rig.server.readingUrl);
  const signIn = await account.get('/-/sign-in');
  expect(signIn.text).not.toContain('<img');
  expect(signIn.text).toContain('No subscription yet? <a href="https://shop.example/">');
  expect((await account.get('/-/style.css')).text).toContain('--accent:#a3301d');
  const { code } = await rig.invite({ name: 'kora', sets: ['day-16', '*'] });
  await account.join(code, 'correct horse battery');
  const { text } = await account.get('/-/account');
  expect(text).toContain('Day 16');
  expect(text).toContain('Everything');
  expect(text).toContain('no end date');
  expect(text).not.toContain('<code>');
});
