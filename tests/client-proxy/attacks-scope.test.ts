import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bindSite } from '../../client-proxy/index.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { encodeHtmlCarrier } from '../../core/object/carrier.ts';
import { secondsLater } from '../support/afterwards.ts';
import { startContentHost } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { HostileKeyServer } from '../support/hostile-key-server.ts';
import { type Received, refusalCode, send, sendRaw } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const SECRET = 'for subscribers only';

const rig = forFile(startHostileReaderRig);
const other = await TestPublisher.create('other.example');
const otherHost = forFile(startContentHost);
let otherServer: HostileKeyServer;
beforeAll(async () => {
  otherServer = await HostileKeyServer.start(other);
  const site = { site: 'other.example', content: [otherHost.origin], reading: other.reading };
  otherServer.descriptor = other.descriptor(otherServer.origin, { sites: [site] });
  other.setDescriptor(otherServer.descriptor);
  await other.sign(otherHost.files);
  await bindSite({ ...rig.storage, link: await otherServer.invite(), trustSites: ['other.example'] });
  other.afterPublishing = () => rig.proxy.check();
});
afterAll(() => otherServer.close());
beforeEach(() => {
  rig.host.handlers.clear();
  rig.host.requests.length = 0;
});

const read = (path = '/a.html', site = 'news.example') => send(rig.proxy.port, `http://${site}${path}`);

/** What the publication names at `/a.html`, by a publisher's mistake or a thief of its keys. */
const publishAs = (object: Uint8Array) => rig.publisher.publishObject(rig.host.files, '/a.html', object);

/** What the content host has in the place of the file that the publication names. */
function serveFor(path: string, bytes: Uint8Array | undefined): void {
  const file = rig.publisher.fileOf(path);
  if (bytes) rig.host.files.set(file, bytes);
  else rig.host.files.delete(file);
}

/** What the content host was asked for, but for what every look for a newer publication asks. */
const documentRequests = () =>
  rig.host.requests.map(({ url }) => url).filter((url) => !url.startsWith('/.well-known/'));

function expectRefused(answer: Received, code: string, status = 502): void {
  expect([answer.status, refusalCode(answer)]).toEqual([status, code]);
  expect(answer.text).not.toContain(SECRET);
}

describe('a valid object in the wrong place', () => {
  it('attack 18: at another path', async () => {
    await publishAs(await rig.publisher.object('/b.html', { content: SECRET }));
    expectRefused(await read(), 'path-mismatch');
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'right' });
    await rig.publisher.publish(rig.host.files, '/b.html', { content: SECRET });
    serveFor('/a.html', rig.host.files.get(rig.publisher.fileOf('/b.html')));
    expectRefused(await read(), 'head-unexpected');
  });

  it('attack 19: of another site, both bound', async () => {
    const sameKey = Object.create(rig.publisher, { site: { value: 'other.example' } }) as TestPublisher;
    await publishAs(await sameKey.object('/a.html', { content: SECRET }));
    expectRefused(await read('/a.html', 'news.example'), 'site-mismatch');
    const theirs = await other.publish(otherHost.files, '/a.html', { content: SECRET });
    expect((await read('/a.html', 'other.example')).text).toBe(SECRET);
    await publishAs(theirs);
    expectRefused(await read('/a.html', 'news.example'), 'publisher-unexpected');
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'right' });
    serveFor('/a.html', theirs);
    expectRefused(await read('/a.html', 'news.example'), 'head-unexpected');
  });

  it("attack 20: signed by another bound publisher's key", async () => {
    const impostor = Object.create(other, { site: { value: 'news.example' } }) as TestPublisher;
    await publishAs(await impostor.object('/a.html', { content: SECRET, set: rig.publisher.set }));
    expectRefused(await read(), 'publisher-unexpected');
  });

  it('attack 21: moved between sets', async () => {
    const dear = await createSetKey();
    const object = await rig.publisher.object('/a.html', { content: SECRET, set: dear });
    const cheap = Buffer.from(Buffer.from(object).toString('latin1').replace(dear.id, rig.publisher.set.id), 'latin1');
    await publishAs(cheap);
    expectRefused(await read(), 'payload-invalid'); // derived keys depend on the set
    // The object is as the publisher made it; the publication says that it belongs to another set.
    await publishAs(object);
    expectRefused(await read(), 'head-unexpected');
    await rig.publisher.publishObject(rig.host.files, '/a.html', object, { set: dear });
    expectRefused(await read(), 'not-entitled', 403);
  });
});

describe('attack 22: a key that is not valid now', () => {
  const hour = 3600;
  const now = () => Math.floor(Date.now() / 1000);

  it.each([
    ['not yet', hour, 2 * hour],
    ['no longer', -2 * hour, -hour],
  ])('is refused %s, with the times', async (_, from, until) => {
    const set = await createSetKey();
    const [notBefore, notAfter] = [now() + from, now() + until];
    rig.keyServer.grant(set, { notBefore, notAfter });
    await rig.publisher.publish(rig.host.files, '/a.html', { content: SECRET, set });
    const answer = await read();
    expectRefused(answer, 'key-not-valid-now', 403);
    for (const time of [notBefore, notAfter]) expect(answer.text).toContain(new Date(time * 1000).toISOString());
  });

  it('is asked for again where it expired while it was kept, and used if it was extended', async () => {
    const set = await createSetKey();
    rig.keyServer.grant(set, { notAfter: now() + 60 });
    await rig.publisher.publish(rig.host.files, '/a.html', { content: SECRET, set });
    expect((await read()).text).toBe(SECRET);
    await secondsLater(61, async () => {
      expectRefused(await read(), 'key-not-valid-now', 403);
      rig.keyServer.grant(set);
      expect((await read()).text).toBe(SECRET);
    });
  });
});

it('attack 23: an unsigned page is not shown where there is no document, or only its object is missing', async () => {
  rig.host.files.set('/none.html', utf8(`<h1>${SECRET}</h1>`));
  rig.host.files.set('/none.html.protected', await rig.publisher.object('/none.html', { content: SECRET }));
  expectRefused(await read('/none.html'), 'no-such-document', 404);
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
  serveFor('/a.html', undefined);
  rig.host.files.set('/a.html', utf8(`<h1>${SECRET}</h1>`));
  expectRefused(await read(), 'object-missing');
});

it('attack 24: query and path survive into the link, and nothing else of the request does', async () => {
  await rig.publisher.publish(rig.host.files, '/a b/index.html', { content: SECRET });
  rig.host.files.delete(rig.publisher.fileOf('/a b/index.html'));
  const answer = await read('/a%20b/?q=%22%3E%3Cscript%3E&x=%C3%A9');
  expect(refusalCode(answer)).toBe('object-missing');
  expect(answer.text).toContain('href="https://read.news.example/a%20b/?q=%22%3E%3Cscript%3E&#38;x=%C3%A9"');
  expect(answer.text).not.toContain('<script');
});

it.each([
  '//evil.example/x',
  '//evil.example',
  '/\\evil.example/x',
  '/%2F/evil.example/',
  '/.//evil.example/',
  '//[',
  '//@evil.example:1/',
])(
  'attack 89: the links on a page of refusal lead to the site itself for %s, and to the signed reading site (attack 24)',
  async (target) => {
    const bytes = await sendRaw(
      rig.proxy.port,
      `GET http://news.example${target} HTTP/1.1\r\nHost: news.example\r\nConnection: close\r\n\r\n`,
    );
    expect(bytes).toMatch(/^HTTP\/1\.1 404 /);
    expect(bytes).toContain('wispr-refusal: path-refused');
    const links = Array.from(bytes.matchAll(/(?:href|src|action)="([^"]*)"/g), ([, link]) => link);
    expect(links).toEqual(['http://news.example/', 'https://read.news.example/']);
  },
);

it('attack 25: a fallback page that is itself protected is not followed', async () => {
  const inner = encodeHtmlCarrier(
    await rig.publisher.object('/a.html', { content: 'inner' }),
    utf8('<p>inner fallback</p>'),
  );
  const object = await rig.publisher.object('/a.html', { content: 'outer' });
  const outer = encodeHtmlCarrier(object, inner);
  await rig.publisher.publish(rig.host.files, '/b.html', { content: SECRET });
  await rig.publisher.publishCarrier(rig.host.files, '/a.html', object, outer);
  expect((await read()).text).toBe('outer');
  const file = rig.publisher.fileOf('/b.html');
  rig.host.handlers.set(file, (_, response) => response.writeHead(302, { location: file }).end());
  rig.host.requests.length = 0;
  expectRefused(await read('/b.html'), 'content-host-answer');
  expect(documentRequests()).toHaveLength(1);
});

describe('attack 88: equivalent spellings of a URL', () => {
  beforeEach(async () => {
    await rig.publisher.publish(rig.host.files, '/a/é b.html', { content: SECRET });
  });

  it.each([
    'http://news.example/a/%C3%A9%20b.html',
    'http://news.example/%61/%c3%a9%20b%2Ehtml',
    'http://NEWS.Example/a/%C3%A9%20b.html',
    'http://news.example./a/%C3%A9%20b.html',
    'http://news.example:80/a/%C3%A9%20b.html',
    'http://news.example:/a/%C3%A9%20b.html',
    'HTTP://news%2Eexample/a/%C3%A9%20b.html?x=1',
  ])('%s is the document', async (target) => {
    const answer = await send(rig.proxy.port, target, { headers: { host: 'unrelated.example' } });
    expect([answer.status, answer.text]).toEqual([200, SECRET]);
  });

  it('the URL decides, not Host', async () => {
    await rig.publisher.publish(rig.host.files, '/a.html', { content: SECRET });
    rig.host.files.set('/a.html', utf8('unsigned'));
    const passed = await send(rig.proxy.port, 'http://elsewhere.example/a.html', { headers: { host: 'news.example' } });
    expect(passed.text).toBe('unsigned');
    expect(rig.host.requests.at(-1)?.headers.host).toBe('elsewhere.example');
  });
});
