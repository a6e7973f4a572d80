/** Answers that the running proxy makes of the publication of a connected site: signed 404, redirects, clean URLs, news, age. */
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { fetchDocument, parseConnectTo } from '../../client-proxy/index.ts';
import { BUILT_IN_ACCENT } from '../../core/site/accent.ts';
import { flood } from '../support/content-host.ts';
import { forEachTest } from '../support/for-file.ts';
import { type Received, refusalCode, send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' };

const rig = forEachTest(startHostileReaderRig);
beforeEach(() => rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' }));

const get = (path = '/a.html', headers: Record<string, string> = {}, method = 'GET') =>
  send(rig.proxy.port, rig.url(path), { method, headers });

const now = () => Math.floor(Date.now() / 1000);
const links = ({ text }: Received) => Array.from(text.matchAll(/(?:href|src|action)="([^"]*)"/g), ([, link]) => link);

async function setSettings(changes: Partial<typeof TEST_SETTINGS>): Promise<void> {
  rig.publisher.publication.setSettings({ ...TEST_SETTINGS, ...changes });
  await rig.publisher.sign(rig.host.files);
}

describe('a newer publication', () => {
  it('is seen at the next look, and at once by an end-to-end reload', async () => {
    expect((await get()).text).toBe('signed');
    rig.publisher.afterPublishing = async () => undefined;
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'newer' });
    expect((await get()).text).toBe('signed');
    Object.assign(rig.limits, { checkIntervalUrgent: 0 });
    expect((await get('/a.html', { 'cache-control': 'no-cache' })).text).toBe('newer');
    expect((await get()).text).toBe('newer');
  });
});

describe('attack 80: a daemon that runs past the expiry of its timestamp', () => {
  it('attack 30: shows what it has kept after the grace period behind one click, where the publisher permits that', async () => {
    const FROM_HERE = { ...NAVIGATION, 'sec-fetch-site': 'same-origin' };
    await rig.publisher.publish(rig.host.files, '/unread.html', { content: 'unread' });
    await setSettings({ grace: HOUR, keptAfterGrace: true });
    await rig.publisher.sign(rig.host.files, { version: now(), expires: now() + HOUR }); // the key is good for a day
    await rig.restart({ cacheBytes: 2 ** 26 });
    const objectRequests = () => rig.host.requests.filter(({ url }) => !url.startsWith('/.well-known/wispr/')).length;
    const fetchedAnew = async () => {
      const before = objectRequests();
      return (await get()).text === 'signed' && objectRequests() > before;
    };
    await expect.poll(fetchedAnew).toBe(false); // the cache answers, once it has it
    const before = objectRequests();
    rig.passTime(3 * HOUR);
    const notice = await get('/a.html?b', NAVIGATION);
    expect([notice.status, notice.headers['wispr-notice']]).toEqual([503, 'past']);
    expect([notice.headers['referrer-policy'], links(notice)]).toEqual(['same-origin', ['/a.html?b']]);
    expect(notice.text).toMatch(/This is the page as of \d+ \w+ \d+/);
    expect(notice.text).not.toContain('rel="noreferrer">Show it');
    expect((await get('/a.html', FROM_HERE)).text).toBe('signed');
    expect((await get('/a.html', { referer: 'http://news.example/b.html' })).text).toBe('signed'); // a plain http link
    expect(refusalCode(await get('/unread.html', FROM_HERE))).toBe('content-host-unreachable');
    expect(objectRequests()).toBe(before);
    for (const elsewhere of [{}, { referer: 'http://other.example/' }])
      expect(refusalCode(await get('/a.html', elsewhere))).toBe('publication-expired'); // a program agrees to nothing
    await rig.publisher.publication.close(now(), { version: now() + 2 * HOUR, expires: now() + DAY });
    for (const [path, bytes] of rig.publisher.publication.files) rig.host.files.set(path, bytes);
    await rig.proxy.check().catch(() => undefined);
    expect(refusalCode(await get('/a.html', FROM_HERE))).toBe('publication-withdrawn');
  });

  it('says on its own page how every publication is', async () => {
    const home = async () =>
      (await send(rig.proxy.port, '/', { headers: { host: `localhost:${rig.proxy.port}` } })).text;
    expect(await home()).toMatch(/Up to date (?:1 hour|59 minutes) ago\./);
    rig.passTime(3 * DAY);
    expect(await home()).toMatch(/Up to date 3 days ago; there may be an update/);
    rig.passTime(30 * DAY);
    expect(await home()).toContain('Not shown at the moment: This site may be out of date.');
  });
});

describe('attack 69: a clock that is wrong', () => {
  it('back: the page shows both times, and reading goes on when the clock is right again', async () => {
    rig.passTime(-3 * DAY);
    const answer = await get();
    expect([answer.status, refusalCode(answer)]).toEqual([502, 'clock-off']);
    expect(answer.text.match(/\d{4}-\d\d-\d\dT/g)?.length).toBeGreaterThanOrEqual(2);
    rig.passTime(3 * DAY);
    expect((await get()).text).toBe('signed');
  });
});

describe('a page in place of a document', () => {
  const LOOK = { accent: '#a3301d', logo: '/front/logo & co.svg', subscribe: 'https://shop.example/?a=1' };

  it('has the publisher’s name, colour and logo out of the signed settings, and may load nothing else', async () => {
    await setSettings(LOOK);
    await get();
    const { text, headers } = await get('/missing.html');
    expect(text).toContain('<img src="/front/logo%20%26%20co.svg" alt="The Morning Paper">');
    const [style = ''] = /<style>:root\{[^}]*--accent:#a3301d[;}].*?(?=<\/style>)/s.exec(text) ?? [];
    const digest = createHash('sha256').update(style.slice('<style>'.length)).digest('base64');
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain(`'sha256-${digest}'`);
    expect(policy).toMatch(
      /^default-src 'none'; style-src [^;]*; img-src 'self'; base-uri 'none'; form-action 'none'; /,
    );
    await setSettings({ accent: '#ffee00' });
    await get();
    const pale = await get('/missing.html');
    expect(pale.text).toContain(`--accent:${BUILT_IN_ACCENT.light};`);
    expect(pale.text).toContain('<bdi>The Morning Paper</bdi>');
  });
});

it('a command that ends with its document waits for what is newest however slow a look is: what that brings later would be lost; and does not take what is here for it', async () => {
  expect((await get()).text).toBe('signed');
  rig.publisher.afterPublishing = async () => undefined;
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'newer' });
  Object.assign(rig.limits, { staleWait: 0 });
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${rig.host.port}`)];
  await rig.proxy.close();
  const options = { ...rig.storage, connectTo, cacheBytes: 0, address: rig.url('/a.html') };
  expect(await fetchDocument(options, ({ content }) => text(content))).toBe('newer');
  const none = { ...options, address: rig.url('/none') };
  await expect(fetchDocument(none, async () => undefined)).rejects.toMatchObject({ code: 'no-such-document' });
  await rig.publisher.publish(rig.host.files, '/b.html', { content: 'b' });
  const snapshot = `/.well-known/wispr/${rig.publisher.publication.version}.snapshot.json`;
  rig.host.handlers.set(snapshot, (_, response) => response.writeHead(500).end());
  await expect(fetchDocument(none, async () => undefined)).rejects.toMatchObject({
    code: 'content-host-answer',
    message: expect.stringMatching(/has no such document; could not look for a newer one: /),
  });
  expect(await fetchDocument(options, ({ content }) => text(content))).toBe('newer');
  rig.host.handlers.clear();
  const { origin } = rig.keyServer;
  rig.publisher.setDescriptor(rig.publisher.descriptor(origin, { issued: now(), name: 'Renamed' }));
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'newest' });
  const descriptor = [...rig.host.files.keys()].filter((path) => path.endsWith('.wispr-provider')).at(-1) ?? '';
  rig.host.handlers.set(descriptor, (_, response) => response.writeHead(500).end());
  await expect(fetchDocument(none, async () => undefined)).rejects.toMatchObject({ code: 'no-such-document' });
  expect(await fetchDocument(options, ({ content }) => text(content))).toBe('newest');
});

describe('attack 38: metadata', () => {
  it('without end, of /.well-known/wispr/timestamp.json, are bounded in size', async () => {
    expect((await get()).text).toBe('signed');
    rig.publisher.afterPublishing = async () => undefined;
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'newer' });
    let [sent, closed] = [0, false];
    rig.host.handlers.set('/.well-known/wispr/timestamp.json', (_, response) => {
      response.on('close', () => {
        closed = true;
      });
      flood(response, Buffer.alloc(65_536, ' '), () => (sent += 65_536));
    });
    await expect(rig.proxy.check()).rejects.toMatchObject({ code: expect.stringMatching(/^metadata-/) });
    await expect.poll(() => closed).toBe(true);
    expect(sent).toBeLessThan(30_000_000);
    expect((await get()).text).toBe('signed');
    rig.host.handlers.clear();
    await rig.proxy.check();
    expect((await get()).text).toBe('newer');
  });

  it('that come in drops are bounded in time, and no reader waits who has something good', async () => {
    expect((await get()).text).toBe('signed');
    let open = 0;
    rig.host.handlers.set('/.well-known/wispr/timestamp.json', (_, response) => {
      open++;
      const drip = setInterval(() => response.write(' '), 50);
      response.on('close', () => {
        open--;
        clearInterval(drip);
      });
    });
    Object.assign(rig.limits, { timestampTimeout: 400 });
    const looking = rig.proxy.check();
    looking.catch(() => undefined); // failure may come before the next line is done
    expect((await get()).text).toBe('signed');
    await expect(looking).rejects.toMatchObject({ code: 'content-host-unreachable' });
    await expect.poll(() => open).toBe(0);
  });
});

it('a descriptor of the publication that names another key server is not followed: this needs another binding', async () => {
  const { publisher, host, keyServer, proxy } = rig;
  const another = await startHostileReaderRig();
  onTestFinished(() => another.close());
  publisher.setDescriptor(publisher.descriptor(another.keyServer.origin, { issued: now() }));
  await publisher.sign(host.files);
  await proxy.check();
  await get();
  await rig.restart();
  const set = await createSetKey();
  keyServer.grant(set);
  await publisher.publish(host.files, '/b.html', { content: 'of a new set', set });
  await rig.proxy.check();
  expect((await get('/b.html')).text).toBe('of a new set');
  expect(another.keyServer.keyRequests).toEqual([]);
});
