/** What a signed "no such document" is worth where nobody could look for a newer publication. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LIMITS } from '../../client-proxy/limits.ts';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { type Received, refusalCode, send } from '../support/http-client.ts';
import { type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const TIMESTAMP = '/.well-known/wispr/timestamp.json';
const FINAL = 'There is no such page</h1>';
const SO_FAR = 'There is no such page so far</h1>';

const before = { ...LIMITS };
let rig: ReaderRig<HostileKeyServer>;
beforeEach(async () => {
  rig = await startHostileReaderRig();
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
});
afterEach(async () => {
  Object.assign(LIMITS, before);
  await rig.close();
});

const ask = (path: string, headers: Record<string, string> = {}) =>
  send(rig.proxy.port, rig.url(path), { method: 'GET', headers });
const reload = (path: string) => ask(path, { 'cache-control': 'no-cache' });
const version = () => rig.publisher.publication.version;
const seen = (answer: Received) => [answer.status, refusalCode(answer)];

it('is the last word where it was looked for a newer one', async () => {
  const answer = await reload('/none');
  expect(seen(answer)).toEqual([404, 'no-such-document']);
  expect(answer.text).toContain(FINAL);
  expect(answer.text).not.toContain('newer');
});

it('is that of the publication at hand where host and key server are down, until one can be asked again', async () => {
  await reload('/a.html');
  Object.assign(LIMITS, { checkIntervalUrgent: 0 });
  rig.host.handlers.set(TIMESTAMP, (request) => request.socket.destroy());
  for (const answer of [await reload('/none'), await ask('/none')]) {
    expect(seen(answer)).toEqual([404, 'no-such-document']);
    expect(answer.text).toContain(SO_FAR);
    expect(answer.text).toContain(`Publication ${version()} of this site, the newest that is here,`);
    expect(answer.text).toMatch(/It was last confirmed (?:just now|.* ago)\./);
    expect(answer.text).toContain('could not look for a newer one: The content host does not answer.');
    expect(answer.text).toContain('and reload this page: a newer publication may have it.');
    expect(answer.text).toContain('href="https://read.news.example/none"'); // which may know of a newer one
  }
  rig.host.handlers.clear();
  expect((await reload('/none')).text).toContain(FINAL);
});

it('is that of the publication at hand while a look goes on that a reload waited for in vain', async () => {
  await reload('/a.html');
  Object.assign(LIMITS, { checkIntervalUrgent: 0, staleWait: 0 });
  const held: (() => void)[] = [];
  rig.host.handlers.set(TIMESTAMP, (_, response) => {
    held.push(() => response.end(rig.host.files.get(TIMESTAMP)));
  });
  const answer = await reload('/none');
  expect(seen(answer)).toEqual([404, 'no-such-document']);
  expect(answer.text).toContain(SO_FAR);
  expect(answer.text).toContain('A newer one is being looked for.');
  expect(answer.text).toContain('Reload this page in a moment');
  rig.host.handlers.clear();
  for (const answerNow of held) answerNow();
  await expect.poll(async () => (await ask('/none')).text).toContain(FINAL);
});

it("leaves the publisher's own signed page for it as it is", async () => {
  await rig.publisher.publishSigned(rig.host.files, '/404.html', { content: 'their own' });
  rig.publisher.publication.setSettings({ ...TEST_SETTINGS, notFound: '/404.html' });
  await rig.publisher.sign(rig.host.files);
  await reload('/a.html');
  Object.assign(LIMITS, { checkIntervalUrgent: 0 });
  rig.host.handlers.set(TIMESTAMP, (request) => request.socket.destroy());
  const answer = await reload('/none');
  expect([answer.status, answer.text]).toEqual([404, 'their own']);
});
