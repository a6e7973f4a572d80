/** Browsers as devices, request by request: docs/spec/web-reader.md, sections 3 and 4. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { readU32 } from '../../core/encoding/bytes.ts';
import {
  acceptBrowserBinding,
  BINDING_PATH,
  encodeBindingRequest,
  encodeBrowserBindingRequest,
} from '../../core/keys/binding.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH, type KeyAnswer, openKeyAnswer } from '../../core/keys/key-request.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { nobleXwingParts } from '../../core/primitives/noble-ml-kem.ts';
import { createEd25519Signer, createXwingRecipient } from '../../core/primitives/webcrypto-xwing.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { deviceLabel } from '../../keyserver/readers/device-label.ts';
import { devicesOf as listDevices, removeDevice } from '../../keyserver/readers/devices.ts';
import { decideKeys, standingRights } from '../../keyserver/readers/entitlement.ts';
import { bind, post } from '../support/device.ts';
import { listen, rigForFile } from '../support/keyserver-rig.ts';
import { SITE, setOf } from '../support/publisher-with-sets.ts';
import { createReader, type Reader } from '../support/reading-site-visitor.ts';
import { buildWebReader } from '../support/web-reader.ts';

const DAY = 86_400;
const rig = rigForFile({ config: { reading: { listen, documents: { listen, inBrowser: true } } } });
let vault: string;
beforeAll(async () => {
  await buildWebReader();
  vault = rig.server.readingUrl;
});

const now = () => rig.server.state.now();
const provider = () => ({ keyServer: vault, publisher: rig.publisher.root.id });
const day1 = () => setOf(rig.publisher, 'day-1').id;
const devicesOf = async (name: string) => listDevices(rig.server.state.database, await rig.idOf(name));

const PHONE =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Mobile Safari/537.36';

/** Sends as a page of the vault does. */
function send(reader: Reader, path: string, body: Uint8Array, headers: Record<string, string> = { origin: vault }) {
  const cookie = [...reader.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return post(vault, path, body, { cookie, ...headers });
}

async function becomeDevice(reader: Reader, headers: Record<string, string> = {}): Promise<NamedKey> {
  const keys = await createKeys();
  const request = await encodeBrowserBindingRequest(keys, provider().publisher, now(), [day1()]);
  const response = await send(reader, '/-/device', request, { origin: vault, ...headers });
  expect(response.status).toBe(200);
  const answer = new Uint8Array(await response.arrayBuffer());
  const end = 4 + readU32(answer);
  const device = await acceptBrowserBinding(request, answer.subarray(4, end), keys, provider());
  const first = answer.subarray(end);
  expect(await openKeyAnswer(first, request, device.key)).toMatchObject({ keys: [{ id: day1() }], refused: [] });
  await expect(openKeyAnswer(first, await requestFor([day1()]), device.key)).rejects.toThrow(KeyError);
  return device;
}

async function ask(reader: Reader, device: NamedKey): Promise<KeyAnswer | { status: number; error: string }> {
  const request = await encodeKeyRequest(device, vault, [day1()], now());
  const response = await send(reader, '/-/key-requests', request);
  if (response.status !== 200) return { status: response.status, ...((await response.json()) as { error: string }) };
  return openKeyAnswer(new Uint8Array(await response.arrayBuffer()), request, device.key);
}

const createKeys = async () => ({
  xwing: await createXwingRecipient(nobleXwingParts),
  ed25519: await createEd25519Signer(),
});
const requestFor = async (keys: readonly KeyId[]) =>
  encodeBrowserBindingRequest(await createKeys(), provider().publisher, now(), keys);
const request = () => requestFor([day1()]);

describe('a browser', () => {
  it('becomes a device of who is signed in, and gets keys', async () => {
    const anna = await rig.join('anna');
    const device = await becomeDevice(anna, { 'user-agent': PHONE });
    expect(await ask(anna, device)).toMatchObject({ keys: [{ id: day1() }], refused: [] });
    expect(await devicesOf('anna')).toMatchObject([{ kind: 'browser', label: 'Chrome/Android' }]);
    const page = await anna.get('/-/account');
    expect(page.text).toMatch(/Chrome on Android <span class="when">This phone, now</);
    expect(page.text).not.toContain(device.id);
  });

  it('is called by its browser and its system, and by nothing else that it says of itself', () => {
    const apple = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
    const agents = [
      PHONE,
      `${PHONE} EdgA/120.0`,
      `Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) ${apple} Version/17.1 Mobile/15E148 Safari/604.1`,
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:120.0) Gecko/20100101 Firefox/120.0',
      'curl/8.5.0',
    ];
    const labels = ['Chrome/Android', 'Edge/Android', 'Safari/iPhone', 'Firefox/Windows', undefined];
    expect(agents.map(deviceLabel)).toEqual(labels);
  });

  it('has the vault’s script inside the page until it is a device, and under its address from then on', async () => {
    const paula = await rig.join('paula');
    const page = () => paula.get('/-/keys', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' });
    const { text, headers } = await page();
    const [, script = ''] = /<script>(.*)<\/script>/s.exec(text) ?? [];
    const digest = createHash('sha256').update(script).digest('base64');
    expect(script).toContain('wispr-vault');
    expect(headers['content-security-policy']).toContain(`'sha256-${digest}'`);
    expect(text).toMatch(/<link rel="preload" as="script" href="\/-\/ml-kem\.js\?v=/);
    await becomeDevice(paula);
    const later = (await page()).text;
    expect(later).toContain(`integrity="sha256-${digest}" defer>`);
    expect(later).not.toMatch(/<script>|rel="preload"/);
  });

  it.each<[string, Record<string, string>]>([
    ['no Origin', {}],
    ['no Origin, from the same site', { 'sec-fetch-site': 'same-site' }],
    ['no Origin, though from here', { 'sec-fetch-site': 'same-origin' }],
    ['the origin of the documents', { origin: 'DOCUMENTS' }],
    ['an opaque origin', { origin: 'null' }],
    ['its own origin, but from the same site', { origin: 'VAULT', 'sec-fetch-site': 'same-site' }],
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
  ])('attack 95: is none by a request with its cookie and %s', async (_, headers) => {
    const bert = await rig.join('bert');
    const before = JSON.stringify(await overview(rig.server.state));
    const names: Record<string, string> = { DOCUMENTS: rig.server.documentsUrl, VAULT: vault };
    const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, names[value] ?? value]));
    for (const path of ['/-/device', '/-/key-requests']) {
      const response = await send(bert, path, await request(), sent);
      expect([response.status, await response.json()]).toEqual([403, { error: 'cross-site' }]);
    }
    expect(JSON.stringify(await overview(rig.server.state))).toBe(before);
  });

  it.each<[string, () => KeyId[]]>([
    ['none', () => []],
    ['one twice', () => [day1(), day1()]],
    ['more than 256', () => Array.from({ length: 257 }, (_, index) => toBase64url(new Uint8Array(32).fill(index)))],
  ])('is none by a request for keys that names %s', async (_, keys) => {
    const response = await send(await rig.join('otto'), '/-/device', await requestFor(keys()));
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await devicesOf('otto')).toEqual([]);
  });

  it('without a session is none', async () => {
    const response = await send(createReader(rig.server), '/-/device', await request());
    expect([response.status, await response.json()]).toEqual([401, { error: 'not-signed-in' }]);
  });

  it('attack 42: gets nothing by the device of another subscriber, of a Reader, or of the API', async () => {
    const [carla, dora] = [await rig.join('carla'), await rig.join('dora')];
    const device = await becomeDevice(carla);
    const refused = { status: 403, error: 'request-refused' };
    expect(await ask(dora, device)).toEqual(refused);
    const { deviceKey } = await bind(rig.provider, await rig.codeFor('carla'));
    expect(await ask(carla, deviceKey)).toEqual(refused);
    const atApi = await encodeKeyRequest(device, rig.server.url, [day1()], now());
    expect((await post(rig.server.url, KEY_REQUEST_PATH, atApi)).status).toBe(403);
    expect((await send(carla, '/-/key-requests', atApi)).status).toBe(403);
  });

  it('attack 46: needs no code here, and is no device by its session at the API', async () => {
    const emil = await rig.join('emil');
    const keys = await deriveDeviceKeys(randomBytes(32), provider());
    const withCode = encodeBindingRequest(keys, provider().publisher, '0000000000000000', now());
    const response = await send(emil, '/-/device', withCode);
    expect([response.status, await response.json()]).toEqual([400, { error: 'binding-malformed' }]);
    const atApi = await post(rig.server.url, BINDING_PATH, await request());
    expect([atApi.status, await atApi.json()]).toEqual([400, { error: 'binding-malformed' }]);
  });

  it('attack 77: gets no key of another site of the publisher, which its Reader gets', async () => {
    const day2 = setOf(rig.publisher, 'day-2').id;
    await rig.server.state.database.run('UPDATE sets SET site = ? WHERE id = ?', 'sport.example', day2);
    const lisa = await rig.join('lisa');
    const device = await becomeDevice(lisa);
    const asked = await encodeKeyRequest(device, vault, [day1(), day2], now());
    const response = await send(lisa, '/-/key-requests', asked);
    const answer = await openKeyAnswer(new Uint8Array(await response.arrayBuffer()), asked, device.key);
    expect(answer).toMatchObject({ keys: [{ id: day1() }], refused: [{ id: day2, reason: 'not-entitled' }] });
    const { deviceKey } = await bind(rig.provider, await rig.codeFor('lisa'));
    const atApi = await encodeKeyRequest(deviceKey, rig.server.url, [day2], now());
    const given = new Uint8Array(await (await post(rig.server.url, KEY_REQUEST_PATH, atApi)).arrayBuffer());
    expect(await openKeyAnswer(given, atApi, deviceKey.key)).toMatchObject({ keys: [{ id: day2 }], refused: [] });
  });

  it('attack 77: is told nothing of other sites, not even who was revoked', async () => {
    const { state } = rig.server;
    const revoked = await standingRights(state, { id: await rig.idOf('lisa'), name: 'lisa', revoked: now() });
    const remembered = await state.memory.current();
    const denial = async (sites?: string[]) =>
      (await decideKeys(state, remembered, revoked, [day1()], sites)).map(({ denied }) => denied).join();
    expect([await denial([SITE]), await denial()]).toEqual(['revoked', 'revoked']);
    const others = [await denial(['elsewhere.example']), await denial([])];
    expect(others).toEqual(['not-entitled', 'not-entitled']);
  });

  it('stays signed in as long as it asks for keys', async () => {
    const gerda = await rig.join('gerda');
    const device = await becomeDevice(gerda);
    rig.passTime(29 * DAY);
    expect(await ask(gerda, device)).toMatchObject({ keys: [{}] });
    rig.passTime(29 * DAY);
    expect(await ask(gerda, device)).toMatchObject({ keys: [{}] });
    rig.passTime(31 * DAY);
    expect(await ask(gerda, device)).toEqual({ status: 401, error: 'not-signed-in' });
    rig.passTime(-89 * DAY);
  });

  it('attack 47: that is removed is refused, and its session ends; others stay', async () => {
    const [one, other] = [await rig.join('hanna'), await rig.join('hanna')];
    const [device, second] = [await becomeDevice(one), await becomeDevice(other)];
    const [{ id } = { id: 0 }] = (await devicesOf('hanna')).slice(-1);
    expect(await removeDevice(rig.server.state, await rig.idOf('anna'), id)).toBe(false);
    await other.post('/-/remove-device', { device: String(id) });
    expect(await ask(one, device)).toEqual({ status: 401, error: 'not-signed-in' });
    expect(await ask(other, second)).toMatchObject({ keys: [{}] });
    // A new sign-in does not bring the old device back.
    const again = await rig.join('hanna');
    expect(await ask(again, device)).toMatchObject({ keys: [], refused: [{ reason: 'revoked' }] });
  });

  it('takes the place of the one that was used longest ago, once there are twenty', async () => {
    const ida = await rig.join('ida');
    const first = await becomeDevice(ida);
    const readers = await bind(rig.provider, await rig.codeFor('ida'));
    rig.passTime(1);
    const second = await becomeDevice(ida);
    rig.passTime(1);
    for (let count = 0; count < 19; count++) await becomeDevice(ida);
    const kinds = (await devicesOf('ida')).map(({ kind }) => kind);
    expect([kinds.filter((kind) => kind === 'browser').length, kinds.includes('reader')]).toEqual([20, true]);
    expect(await ask(ida, first)).toEqual({ status: 403, error: 'request-refused' });
    expect(await ask(ida, second)).toMatchObject({ keys: [{}] });
    expect(readers.deviceKey.id).not.toBe(first.id);
    rig.passTime(-2);
  });
});

describe('a password', () => {
  it('can be set by a reader who joined without one, and then signs in, and an older session replaces none', async () => {
    const jens = await rig.join('jens');
    const { headers } = await jens.post('/-/password', { password: 'short' });
    expect((await jens.get(String(headers.location))).text).toContain('at least 10 characters');
    expect((await jens.post('/-/password', { password: 'correct horse battery' })).status).toBe(303);
    rig.passTime(1000);
    expect((await jens.post('/-/password', { password: 'another one altogether' })).status).toBe(403);
    const signIn = (password: string) => createReader(rig.server).signIn('jens', password);
    expect((await signIn('correct horse battery')).status).toBe(303);
    expect((await signIn('another one altogether')).status).toBe(403);
  });

  it('stays as it is where its subscriber joins a further browser without one', async () => {
    const kora = createReader(rig.server);
    await kora.join(await rig.codeFor('kora'), 'correct horse battery');
    await rig.join('kora');
    expect((await kora.get('/-/account')).status).toBe(200);
    expect((await createReader(rig.server).signIn('kora', 'correct horse battery')).status).toBe(303);
  });
});

it('the name on an invitation is said to who has the code, and uses nothing up', async () => {
  const code = await rig.codeFor('Änne Müller');
  const ask = () => createReader(rig.server).post('/-/invitation', { code });
  for (const answer of [await ask(), await ask()])
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { name: 'Änne Müller' }]);
  const reader = createReader(rig.server);
  await reader.join(code);
  expect([(await ask()).status, (await ask()).text]).toEqual([403, '{"error":"code-refused"}']);
  expect(rig.log()).not.toContain('Müller');
});
