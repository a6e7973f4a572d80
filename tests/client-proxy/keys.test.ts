import { beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { RENEWAL_PATH } from '../../core/keys/binding.ts';
import type { KeyAnswer } from '../../core/keys/key-request.ts';
import { type NamedKey, type WrappedKey, wrapKey } from '../../core/keys/wrapped-key.ts';
import { flood } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { type Received, refusalCode, send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { startHostileReaderRig, storedIds } from '../support/reader-rig.ts';

const SECRET = 'for subscribers only';

const rig = forFile(startHostileReaderRig);
let set: NamedKey;

beforeEach(async () => {
  rig.keyServer.tamper = (answer) => answer;
  rig.keyServer.instead = () => false;
  rig.keyServer.keyRequests.length = 0;
  set = await createSetKey();
  rig.keyServer.grant(set);
  await rig.publisher.publish(rig.host.files, '/a.html', { content: SECRET, set });
});

const read = (path = '/a.html') => send(rig.proxy.port, rig.url(path));

function expectRefused(answer: Received, code: string, status: number): void {
  expect([answer.status, refusalCode(answer)]).toEqual([status, code]);
  expect(answer.text).not.toContain(SECRET);
}

const storedKeys = () => storedIds(rig, 'set_keys');

describe('set keys', () => {
  it('are asked for once, and kept', async () => {
    expect((await read()).text).toBe(SECRET);
    expect((await read()).text).toBe(SECRET);
    expect(rig.keyServer.keyRequests.map(({ keys }) => keys)).toEqual([[set.id]]);
    expect(await storedKeys()).toContain(set.id);
  });

  it('are asked for ahead of the front page, beside a look for what is newest, and beside the object', async () => {
    await rig.publisher.publish(rig.host.files, '/index.html', { content: SECRET, set });
    await rig.proxy.lookAhead();
    const { keyRequests } = rig.keyServer;
    expect(keyRequests.map(({ keys }) => keys)).toEqual([[set.id]]);
    const { host, limits } = rig;
    const answersOnceAsked = async (path: string, file: string, number: number, checkInterval: number) => {
      const own = await createSetKey();
      rig.keyServer.grant(own);
      await rig.publisher.publish(host.files, path, { content: SECRET, set: own });
      const bytes = host.files.get(file === '' ? rig.publisher.fileOf(path) : file);
      host.handlers.set(file === '' ? rig.publisher.fileOf(path) : file, async (_, response) => {
        await expect.poll(() => keyRequests.length).toBe(number);
        response.writeHead(bytes ? 200 : 404).end(bytes);
      });
      Object.assign(limits, { checkInterval });
      expect((await read(path)).text).toBe(SECRET);
      host.handlers.clear();
    };
    await answersOnceAsked('/b.html', '/.well-known/wispr/2.root.json', 2, 0); // hours without a request do the same
    await answersOnceAsked('/c.html', '', 3, DEFAULT_LIMITS.checkInterval);
  });

  it('travel in one request, each once, where they are wanted at the same time', async () => {
    const sets = await Promise.all(Array.from({ length: 12 }, createSetKey));
    for (const [index, one] of sets.entries()) {
      rig.keyServer.grant(one);
      await rig.publisher.publish(rig.host.files, `/many/${index}.html`, { content: SECRET, set: one });
    }
    const answers = await Promise.all([...sets.keys(), ...sets.keys()].map((index) => read(`/many/${index}.html`)));
    expect(answers.every(({ text }) => text === SECRET)).toBe(true);
    const asked = rig.keyServer.keyRequests.flatMap(({ keys }) => keys);
    expect(asked.sort()).toEqual(sets.map(({ id }) => id).sort());
    expect(rig.keyServer.keyRequests.length).toBeLessThan(12);
  });

  it.each([
    ['not-entitled', 'not-entitled', 403],
    ['lapsed', 'lapsed', 403],
    ['revoked', 'revoked', 403],
    ['stale-request', 'clock-off', 502],
    ['replayed-request', 'key-server-answer', 502],
  ] as const)('refused as %s: said so, and remembered for a while where it lasts', async (reason, code, status) => {
    rig.keyServer.refusals.set(set.id, reason);
    expectRefused(await read(), code, status);
    expectRefused(await read(), code, status);
    expect(rig.keyServer.keyRequests).toHaveLength(status === 403 ? 1 : 2);
    rig.keyServer.refusals.clear();
  });

  it('are asked for again when the key server says, where it has too much to do', async () => {
    const sent: number[] = [];
    rig.keyServer.instead = (request, response) => {
      if (request.url !== '/v1/keys' || sent.push(performance.now()) > 1) return false;
      request.resume();
      response.writeHead(503, { 'Retry-After': '1' }).end('{"error":"busy"}');
      return true;
    };
    expect((await read()).text).toBe(SECRET);
    const [first = 0, second = 0] = sent;
    expect(second - first).toBeGreaterThan(990);
    expect(sent).toHaveLength(2);
  });

  it('are not asked for again at once by a device that the key server does not know', async () => {
    let asked = 0;
    rig.keyServer.instead = (request, response) => {
      if (request.url === '/v1/keys') asked++;
      else if (request.url !== RENEWAL_PATH) return false;
      request.resume();
      response.writeHead(403).end('{"error":"request-refused"}');
      return true;
    };
    for (let reading = 0; reading < 5; reading++) expectRefused(await read(), 'revoked', 403);
    expect(asked).toBe(1);
  });

  it.each([
    ['no answer', 'key-server-unreachable'],
    ['an error', 'key-server-answer'],
    ['a redirect', 'key-server-answer'],
    ['nonsense', 'answer-unreadable'],
    ['an endless answer', 'key-server-answer'],
    ['the answer to another request', 'answer-unreadable'],
  ])('%s of the key server: refused, and asked again next time', async (what, code) => {
    const earlier = rig.keyServer.lastAnswer;
    rig.keyServer.instead = (request, response) => {
      if (request.url !== '/v1/keys') return false;
      request.resume();
      if (what === 'no answer') request.socket.destroy();
      else if (what === 'an error') response.writeHead(500).end();
      else if (what === 'a redirect') response.writeHead(307, { location: '/elsewhere' }).end();
      else if (what === 'nonsense') response.end('nonsense');
      else if (what === 'an endless answer') flood(response, Buffer.alloc(65_536));
      else response.end(earlier);
      return true;
    };
    expectRefused(await read(), code, 502);
    rig.keyServer.instead = () => false;
    expect((await read()).text).toBe(SECRET);
  });
});

describe('a wrapped key', () => {
  const validity = { notBefore: 0, notAfter: 2 ** 40 };
  const wrapped = (device: NamedKey, key: NamedKey, kind: 'set' | 'period' = 'set') =>
    wrapKey(device, { ...key, kind }, validity);
  type Tamper = (answer: KeyAnswer, device: NamedKey) => KeyAnswer | Promise<KeyAnswer>;
  const instead =
    (...keys: ((device: NamedKey) => Promise<WrappedKey>)[]): Tamper =>
    async (answer, device) => ({ ...answer, keys: await Promise.all(keys.map((key) => key(device))) });
  const other = { id: toBase64url(randomBytes(32)), key: randomBytes(32) };

  const later: Tamper = (answer) => ({
    ...answer,
    keys: answer.keys.map((key) => ({ ...key, notAfter: key.notAfter + 1 })),
  });
  const notAskedFor = instead(
    (device) => wrapped(device, other),
    (device) => wrapped(device, set, 'period'),
  );

  it.each<[what: string, tamper: Tamper]>([
    ['attack 42: under another issuer', instead(({ id }) => wrapped({ id, key: randomBytes(32) }, set))],
    ['attack 42: with an altered validity', later],
    [
      'attack 43: whose hash is not the key id asked for',
      instead((device) => wrapped(device, { id: set.id, key: randomBytes(32) })),
    ],
    ['attack 43: that was not asked for, or is of another kind', notAskedFor],
  ])('%s is refused, and no copy of it is kept', async (_, tamper) => {
    rig.keyServer.tamper = tamper;
    if (tamper === notAskedFor) expectRefused(await read(), 'not-entitled', 403);
    else expectRefused(await read(), 'wrapped-key-invalid', 502);
    const stored = await storedKeys();
    expect([stored.includes(set.id), stored.includes(other.id)]).toEqual([false, false]);
  });
});
