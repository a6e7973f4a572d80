/** Answers for a signed "no such document" where no host could be asked for a newer publication. */
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { DESCRIPTOR_TARGET, targetUrlPath } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { forEachTest } from '../support/for-file.ts';
import { type Received, refusalCode, send } from '../support/http-client.ts';
import { type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';

const TIMESTAMP = '/.well-known/wispr/timestamp.json';
const FINAL = 'There is no such page</h1>';
const SO_FAR = 'There is no such page so far</h1>';

const rig = forEachTest(startHostileReaderRig);
beforeEach(() => rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' }));

const ask = (path: string, headers: Record<string, string> = {}) =>
  send(rig.proxy.port, rig.url(path), { method: 'GET', headers });
const reload = (path: string) => ask(path, { 'cache-control': 'no-cache' });
const seen = (answer: Received) => [answer.status, refusalCode(answer)];

it('is the last word where it was looked for a newer one', async () => {
  const answer = await reload('/none');
  expect(seen(answer)).toEqual([404, 'no-such-document']);
  expect(answer.text).toContain(FINAL);
  expect(answer.text).not.toContain('newer');
});

it('is that of the publication at hand where host and key server are down, until one can be asked again', async () => {
  await reload('/a.html');
  Object.assign(rig.limits, { checkIntervalUrgent: 0 });
  rig.host.handlers.set(TIMESTAMP, (request) => request.socket.destroy());
  for (const answer of [await reload('/none'), await ask('/none')]) {
    expect(seen(answer)).toEqual([404, 'no-such-document']);
    expect(answer.text).toContain(SO_FAR);
    expect(answer.text).toMatch(/list of pages was up to date (?:just now|.* ago)\./);
    expect(answer.text).toContain('could not look for a newer one: news.example could not be reached');
    expect(answer.text).toContain('>Try again</a>');
    expect(answer.text).toContain('href="https://read.news.example/none"'); // the web reader may know a newer one
  }
  rig.host.handlers.clear();
  expect((await reload('/none')).text).toContain(FINAL);
});

it('is that of the publication at hand while a look goes on that a reload waited for in vain', async () => {
  await reload('/a.html');
  Object.assign(rig.limits, { checkIntervalUrgent: 0, staleWait: 0 });
  const held: (() => void)[] = [];
  rig.host.handlers.set(TIMESTAMP, (_, response) => held.push(() => response.end(rig.host.files.get(TIMESTAMP))));
  const answer = await reload('/none');
  expect(seen(answer)).toEqual([404, 'no-such-document']);
  expect(answer.text).toContain(SO_FAR);
  expect(answer.text).toContain('still looking for a newer one');
  rig.host.handlers.clear();
  for (const answerNow of held) answerNow();
  await expect.poll(async () => (await ask('/none')).text).toContain(FINAL);
});

describe('where the newest was found, and the descriptor that it names cannot be had, is the last word', () => {
  let descriptorFile: string;
  let host: ReaderRig['host'];
  beforeEach(async () => {
    ({ host } = rig);
    await reload('/a.html');
    Object.assign(rig.limits, { checkIntervalUrgent: 0 });
    rig.publisher.afterPublishing = async () => undefined;
    const renamed = rig.publisher.descriptor(rig.keyServer.origin, { issued: nowInSeconds(), name: 'Renamed' });
    descriptorFile = targetUrlPath(DESCRIPTOR_TARGET, createHash('sha256').update(renamed).digest('hex'));
    rig.publisher.setDescriptor(renamed);
    await rig.publisher.publish(host.files, '/b.html', { content: 'new' });
  });
  const publisher = async () => (await rig.proxy.status()).sites.map(({ publisher }) => publisher);

  it('tries it again with the next look', async () => {
    host.handlers.set(descriptorFile, (_, response) => response.writeHead(503).end());
    expect((await reload('/b.html')).text).toBe('new');
    for (const answer of [await reload('/none'), await ask('/none')]) {
      expect(seen(answer)).toEqual([404, 'no-such-document']);
      expect(answer.text).toContain(FINAL);
    }
    await expect(rig.proxy.check()).rejects.toMatchObject({ code: 'content-host-answer' });
    expect(await publisher()).toEqual(['The Morning Paper']);
    host.handlers.clear();
    await reload('/a.html');
    expect(await publisher()).toEqual(['Renamed']);
  });

  function hold(): (() => void)[] {
    const held: (() => void)[] = [];
    host.handlers.set(descriptorFile, (_, response) => held.push(() => response.end(host.files.get(descriptorFile))));
    return held;
  }

  it('counts while it is waited for, too', async () => {
    Object.assign(rig.limits, { staleWait: 0 });
    const held = hold();
    await reload('/a.html');
    await expect.poll(() => held.length).toBe(1);
    expect((await reload('/none')).text).toContain(FINAL);
    for (const answerNow of held) answerNow();
    await expect.poll(publisher).toEqual(['Renamed']);
  });
});
