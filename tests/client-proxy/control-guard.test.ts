/** Callers who may change something on the Reader's own pages. Rows 61 and 62 of the attack list. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '../../client-proxy/limits.ts';
import { Guard } from '../../client-proxy/pages/guard.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { type Received, refusalCode, type Sent, send, sendRaw } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const rig = forFile(startHostileReaderRig);
let token: string;
beforeAll(async () => {
  token = await readToken('/settings');
});

const own = (host = 'localhost') => `${host}:${rig.proxy.port}`;
const get = (path: string, headers: Record<string, string> = {}) =>
  send(rig.proxy.port, path, { headers: { host: own(), ...headers } });
async function readToken(path: string): Promise<string> {
  const { text } = await get(path);
  return /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
}

/** Everything that can be posted, as the Reader's own forms would send it. */
const forms = async (): Promise<[string, string][]> => [
  ['/settings', 'notices=off'],
  ['/connect', `link=${encodeURIComponent(await rig.keyServer.invite())}`],
  ['/connect/AAAAAAAAAAAAAAAAAAAAAA', 'site=news.example'],
  ['/sites/look', 'publisher=1&site=second.example'],
  ['/sites/decline', 'publisher=1&site=second.example'],
  ['/publishers/1/disconnect', ''],
  ['/activity/forget', ''],
  ['/lock', ''],
  ['/unlock', 'passphrase=x'],
];

function post(path: string, fields: string, changes: Record<string, string | undefined> = {}, sent: Sent = {}) {
  const headers = {
    host: own(),
    origin: `http://${own()}`,
    'sec-fetch-site': 'same-origin',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
    'content-type': 'application/x-www-form-urlencoded',
    ...changes,
  };
  const given = Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => !!entry[1]));
  return send(rig.proxy.port, path, { method: 'POST', headers: given, body: `token=${token}&${fields}`, ...sent });
}

async function expectUnchanged(): Promise<void> {
  expect(rig.proxy.lock.isLocked).toBe(false);
  expect((await rig.proxy.sites()).map(({ site }) => site)).toEqual(['news.example']);
  expect((await get('/settings')).text).toMatch(/name="notices" value="on" checked/);
}

const outcome = (answer: Received) => [answer.status, refusalCode(answer)];
const MALFORMED = [400, 'form-malformed'];

describe('a form of the Reader itself', () => {
  it('is obeyed: by both names, and in absolute form', async () => {
    for (const host of ['localhost', '127.0.0.1']) {
      const names = { host: own(host), origin: `http://${own(host)}` };
      expect((await post('/settings', 'notices=on&activity=on', names)).headers.location).toBe('/settings?done=saved');
      expect((await post(`http://${own(host)}/activity/forget`, '', names)).status).toBe(303);
    }
    expect((await post('/activity/forget', '', { 'sec-fetch-site': undefined })).status).toBe(303);
    await expectUnchanged();
  });

  it('asks again before it disconnects, but not after a link of another site', async () => {
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
      const answer = await get('/publishers/1/disconnect', headers);
      expect([answer.status, refusalCode(answer)]).toEqual([403, 'cross-site']);
      expect(answer.text).not.toContain(token);
      expect((await get('/', headers)).status).toBe(200);
    }
    for (const site of ['same-origin', 'none'])
      expect((await get('/publishers/1/disconnect', { 'sec-fetch-site': site })).text).toContain(token);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('knows no word "%s"', async (word) => {
    for (const path of ['/', '/settings']) {
      const { status, text } = await get(`${path}?done=${word}`);
      expect(status).toBe(200);
      expect(text).not.toMatch(/role="?status|\[object|native code/);
    }
    expect((await get('/settings?done=saved')).text).toMatch(/role="?status/);
  });

  it('and its pages come with headers that let nothing run, load, frame or be kept', async () => {
    for (const path of ['/', '/connect', '/settings', '/publishers/1/disconnect', '/nothing']) {
      const { headers, text } = await get(path);
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      );
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      expect(text).not.toContain('<script');
    }
  });
});

describe('attack 61: DNS rebinding', () => {
  it.each(['/', '/connect', '/settings', '/publishers/1/disconnect', '/instance'])(
    'a foreign name in Host is refused at %s, whatever the origin says',
    async (path) => {
      const port = `:${rig.proxy.port}`;
      for (const host of [`evil.example${port}`, 'evil.example', `localhost.evil.example${port}`]) {
        expect(outcome(await get(path, { host }))).toEqual([403, 'host-unknown']);
        const answer = await post(path, 'notices=off', { host, origin: `http://${host}` });
        expect(outcome(answer)).toEqual([403, 'host-unknown']);
        expect(answer.text).not.toContain(token);
      }
      await expectUnchanged();
    },
  );

  it('another port, no port, or a gateway is not these pages', async () => {
    const gateway = new URL((await rig.proxy.gatewayUrl('news.example')) ?? '').host;
    for (const host of ['localhost', 'localhost:1', gateway]) {
      const answer = await post('/settings', 'notices=off', { host, origin: `http://${host}` });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.text).not.toContain(token);
    }
    await expectUnchanged();
  });

  it('the name in an absolute form counts, not the Host beside it', async () => {
    const answer = await post(`http://evil.example:${rig.proxy.port}/settings`, 'notices=off', { host: own() });
    expect(answer.headers.location).toBeUndefined();
    await expectUnchanged();
  });
});

describe('attack 62: a web page posts to the control pages', () => {
  it('is refused at every form: from another origin, from none, with Fetch Metadata of another site', async () => {
    const gateway = new URL((await rig.proxy.gatewayUrl('news.example')) ?? '').origin;
    const senders = [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: undefined },
      { origin: gateway },
      { origin: `http://127.0.0.1:${rig.proxy.port}` },
      { origin: `https://${own()}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
    ];
    for (const [path, fields] of await forms())
      for (const sender of senders)
        expect([path, sender, ...outcome(await post(path, fields, sender))]).toEqual([path, sender, 403, 'cross-site']);
    await expectUnchanged();
  });

  it('is refused without the token of this run, also of the run before', async () => {
    for (const [path, fields] of await forms())
      for (const wrong of ['', `token=`, `token=${token}x`, `token=${'A'.repeat(token.length)}`])
        expect(outcome(await post(path, fields, {}, { body: `${wrong}&${fields}` }))).toEqual(MALFORMED);
    expect(outcome(await post('/settings', `notices=off&token=${token}`))).toEqual(MALFORMED);
    await expectUnchanged();
    await rig.restart();
    expect(outcome(await post('/settings', 'notices=off'))).toEqual(MALFORMED);
    await expectUnchanged();
    token = await readToken('/settings');
  });

  it('is refused in any form that needs no question to be asked first, and in any that is not one', async () => {
    const json = `{"token":"${token}","notices":"off"}`;
    for (const type of [undefined, 'text/plain', 'application/json', 'multipart/form-data; boundary=x'])
      expect(outcome(await post('/settings', '', { 'content-type': type }, { body: json }))).toEqual(MALFORMED);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect(outcome(await post('/settings', '', {}, { method, body: '' }))).toEqual([405, 'method-refused']);
    expect((await get(`/settings?token=${token}&notices=off`)).status).toBe(200);
    expect(outcome(await get('/activity/forget'))).toEqual([404, 'page-unknown']);
    expect(outcome(await post('/', ''))).toEqual([405, 'method-refused']);
    await expectUnchanged();
  });

  it('is bounded, with its length said beforehand or not, and in its fields', async () => {
    const long = 'a'.repeat(LIMITS.formLength);
    expect(outcome(await post('/settings', long))).toEqual(MALFORMED);
    expect(outcome(await post('/settings', 'a=1&'.repeat(LIMITS.formFields)))).toEqual(MALFORMED);
    expect(outcome(await post('/settings', '', {}, { body: Buffer.from([0xff, 0xfe]) }))).toEqual(MALFORMED);
    const head = `POST /settings HTTP/1.1\r\nHost: ${own()}\r\nOrigin: http://${own()}\r\nContent-Type: application/x-www-form-urlencoded\r\n`;
    const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n`;
    // A form that is whole, with its token, and only too long.
    const chunks = `${chunked(`token=${token}&notices=off&a=`)}${chunked('a'.repeat(0x1000)).repeat(4)}0\r\n\r\n`;
    const fields = 'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
    const answer = await sendRaw(rig.proxy.port, head + fields + chunks);
    expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*^wispr-refusal: form-malformed\r$/m);
    await expectUnchanged();
  });
});

describe('a client that begins a form and does not go on', () => {
  it('does not keep others waiting', async () => {
    const slow = connect(rig.proxy.port, '127.0.0.1');
    await new Promise<void>((resolve) => slow.once('connect', resolve));
    slow.write(
      `POST /settings HTTP/1.1\r\nHost: ${own()}\r\nOrigin: http://${own()}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntok`,
    );
    expect((await get('/')).status).toBe(200);
    expect((await post('/activity/forget', '')).status).toBe(303);
    slow.destroy();
  });

  it('is given up in time, by a clock of the test’s own', async () => {
    const [begun, outcome] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()];
    const guard = new Guard(() => port);
    const server = createServer((request) => {
      guard.readForm(request, { host: 'localhost', port }).then(outcome.resolve, outcome.resolve);
      begun.resolve();
    });
    const port = await listenOnLoopback(server);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const slow = connect(port, '127.0.0.1').on('error', () => undefined);
    try {
      slow.write(
        `POST /settings HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:${port}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntok`,
      );
      await begun.promise;
      vi.advanceTimersByTime(LIMITS.formTimeout);
      expect(await outcome.promise).toMatchObject({ code: 'form-malformed' });
    } finally {
      vi.useRealTimers();
      slow.destroy();
      await closeServer(server);
    }
  });
});
