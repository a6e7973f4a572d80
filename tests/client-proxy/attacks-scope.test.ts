import { beforeEach, describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { encodeHtmlCarrier } from '../../core/object/carrier.ts';
import { secondsLater } from '../support/afterwards.ts';
import { forFile } from '../support/for-file.ts';
import { type Received, refusalCode, send, sendRaw } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const SECRET = 'for subscribers only';

const rig = forFile(startHostileReaderRig);
beforeEach(() => {
  rig.host.handlers.clear();
  rig.host.requests.length = 0;
});

const read = (path = '/a.html') => send(rig.proxy.port, rig.url(path));

function expectRefused(answer: Received, code: string, status = 502): void {
  expect([answer.status, refusalCode(answer)]).toEqual([status, code]);
  expect(answer.text).not.toContain(SECRET);
}

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

it('attack 24: query and path survive into the link, and nothing else of the request does', async () => {
  await rig.publisher.publish(rig.host.files, '/a b/index.html', { content: SECRET });
  rig.host.files.delete(rig.publisher.fileOf('/a b/index.html'));
  const answer = await read('/a%20b/?q=%22%3E%3Cscript%3E&x=%C3%A9');
  expect(refusalCode(answer)).toBe('object-missing');
  expect(answer.text).toContain('href="https://read.news.example/a%20b/?q=%22%3E%3Cscript%3E&#38;x=%C3%A9"');
  expect(answer.text).not.toContain('<script');
});

it.each([
  ...['//evil.example/x', '//evil.example', '/\\evil.example/x', '/%2F/evil.example/', '/.//evil.example/', '//['],
  '//@evil.example:1/',
])('attack 89: the links on a page of refusal lead to the site itself for %s', async (target) => {
  const bytes = await sendRaw(
    rig.proxy.port,
    `GET http://news.example${target} HTTP/1.1\r\nHost: news.example\r\nConnection: close\r\n\r\n`,
  );
  expect(bytes).toMatch(/^HTTP\/1\.1 404 /);
  expect(bytes).toContain('wispr-refusal: path-refused');
  const links = Array.from(bytes.matchAll(/(?:href|src|action)="([^"]*)"/g), ([, link]) => link);
  expect(links).toEqual(['http://news.example/']);
});

it('attack 25: a fallback page that is itself protected is not followed', async () => {
  const innermost = await rig.publisher.object('/a.html', { content: 'inner' });
  const inner = encodeHtmlCarrier(innermost, utf8('<p>inner fallback</p>'));
  const object = await rig.publisher.object('/a.html', { content: 'outer' });
  const outer = encodeHtmlCarrier(object, inner);
  await rig.publisher.publish(rig.host.files, '/b.html', { content: SECRET });
  await rig.publisher.publishCarrier(rig.host.files, '/a.html', object, outer);
  expect((await read()).text).toBe('outer');
  const file = rig.publisher.fileOf('/b.html');
  rig.host.handlers.set(file, (_, response) => response.writeHead(302, { location: file }).end());
  rig.host.requests.length = 0;
  expectRefused(await read('/b.html'), 'content-host-answer');
  expect(rig.host.requests.filter(({ url }) => !url.startsWith('/.well-known/'))).toHaveLength(1);
});
