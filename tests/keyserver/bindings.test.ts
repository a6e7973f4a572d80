import { describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { canonicalJson, type JsonObject } from '../../core/encoding/canonical-json.ts';
import { BINDING_PATH, encodeBindingRequest, normaliseCode } from '../../core/keys/binding.ts';
import type { DeviceKeys } from '../../core/keys/device.ts';
import { signMessage } from '../../core/keys/sealed-message.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { removeDevice } from '../../keyserver/readers/devices.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { askForKeys, bind, createDeviceKeys, post, postFrom } from '../support/device.ts';
import { rigForFile, rigForTest } from '../support/keyserver-rig.ts';
import { setOf } from '../support/publisher-with-sets.ts';

const DAY = 86_400;
const rig = rigForFile();

function request(device: DeviceKeys, code: string, time = nowInSeconds()): Uint8Array {
  return encodeBindingRequest(device, rig.provider.publisher, normaliseCode(code) ?? code, time);
}

/** A device that is not bound yet, and a code for it. */
const invited = async (name: string) => [await createDeviceKeys(rig.provider), await rig.codeFor(name)] as const;

async function tryBinding(body: Uint8Array | string): Promise<{ status: number; body: unknown }> {
  const response = await post(rig.server.url, BINDING_PATH, body);
  return { status: response.status, body: await response.json() };
}

const REFUSED = { status: 403, body: { error: 'code-refused' } };
const MALFORMED = { status: 400, body: { error: 'binding-malformed' } };

async function devicesOf(name: string) {
  return (await overview(rig.server.state)).subscribers.find((subscriber) => subscriber.name === name)?.devices ?? [];
}

describe('binding a device', () => {
  it('gives device and key server the same device key', async () => {
    const deviceCode = await rig.codeFor('anna');
    const device = await bind(rig.provider, deviceCode);
    const { keys } = await askForKeys(device, [setOf(rig.publisher, 'day-1').id]);
    expect(keys).toHaveLength(1);
    expect(await devicesOf('anna')).toMatchObject([{ id: device.deviceKey.id.slice(0, 8), revoked: null }]);
  });

  it('answers a device that lost the answer afresh, and keeps one row for it', async () => {
    const deviceCode = await rig.codeFor('bert');
    const keys = await createDeviceKeys(rig.provider);
    await bind(rig.provider, deviceCode, keys);
    const second = await bind(rig.provider, deviceCode, keys);
    expect(await devicesOf('bert')).toMatchObject([{ id: second.deviceKey.id.slice(0, 8) }]);
    expect((await askForKeys(second, [setOf(rig.publisher, 'day-1').id])).keys).toHaveLength(1);
  });

  it('keeps one row when the same device asks many times at once', async () => {
    const deviceCode = await rig.codeFor('carla');
    const keys = await createDeviceKeys(rig.provider);
    const answers = await Promise.all(Array.from({ length: 8 }, () => tryBinding(request(keys, deviceCode))));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(await devicesOf('carla')).toHaveLength(1);
  });

  it('a device that was removed does not come back with the code that it used', async () => {
    const code = await rig.codeFor('henry');
    const device = await bind(rig.provider, code);
    const row = await rig.server.state.database.first<{ id: number; subscriber: number }>(
      'SELECT id, subscriber FROM devices WHERE key_id = ?',
      device.deviceKey.id,
    );
    expect(await removeDevice(rig.server.state, row?.subscriber ?? 0, row?.id ?? 0)).toBe(true);
    await expect(bind(rig.provider, code, device.keys)).rejects.toThrow('code-refused');
  });

  it('attack 46: a code that is guessed, used, expired, revoked or for another purpose gets one and the same refusal', async () => {
    const invitations = ['emil', 'frieda', 'gustav'].map((name) => rig.invite({ name, validDays: 1 }));
    const [used, expired, revoked] = await Promise.all(invitations);
    const device = await createDeviceKeys(rig.provider);
    await bind(rig.provider, used?.code ?? '');
    await revokeSubscriber(rig.server.state, 'gustav');
    for (const code of ['0000000000000000', used?.code, used?.code, revoked?.code])
      expect(await tryBinding(request(device, code ?? ''))).toEqual(REFUSED);
    rig.passTime(DAY + 1);
    expect(await tryBinding(request(device, expired?.code ?? '', nowInSeconds() + DAY + 1))).toEqual(REFUSED);
    rig.passTime(-DAY - 1);
  });

  it('attack 41: an X25519 key of small order, or a key that is short or long, is refused', async () => {
    const [device, deviceCode] = await invited('hanna');
    const { publicKey } = device.xwing;
    const zeroPoint = Uint8Array.from(publicKey).fill(0, 1184);
    const orderTwo = Uint8Array.from(zeroPoint);
    orderTwo[1184] = 1;
    for (const bad of [zeroPoint, orderTwo, publicKey.subarray(1), new Uint8Array([...publicKey, 0])]) {
      const body = request({ ...device, xwing: { ...device.xwing, publicKey: bad } }, deviceCode);
      expect(await tryBinding(body)).toEqual(MALFORMED);
    }
    expect(await devicesOf('hanna')).toHaveLength(0);
    expect((await tryBinding(request(device, deviceCode))).status).toBe(200); // the code was not used up
  });

  it('refuses a request that the device did not sign, and does not use the code up', async () => {
    const [device, deviceCode] = await invited('jens');
    const stranger = ed25519KeyPair(randomBytes(32));
    const forged = { ...device, ed25519: { publicKey: device.ed25519.publicKey, secretKey: stranger.secretKey } };
    expect(await tryBinding(request(forged, deviceCode))).toEqual(MALFORMED);
    expect((await tryBinding(request(device, deviceCode))).status).toBe(200);
  });

  it('does not let another device use a used code', async () => {
    const [device, deviceCode] = await invited('kora');
    const bound = await bind(rig.provider, deviceCode, device);
    const thief = { ...device, ed25519: ed25519KeyPair(randomBytes(32)) };
    expect(await tryBinding(request(thief, deviceCode))).toEqual(REFUSED);
    expect((await askForKeys(bound, [setOf(rig.publisher, 'day-1').id])).keys).toHaveLength(1);
  });

  it('refuses what is malformed, too large, compressed, for another publisher, or of another time', async () => {
    const [device, deviceCode] = await invited('lena');
    const good = request(device, deviceCode);
    for (const body of ['{}', '', `${Buffer.from(good)} `]) expect(await tryBinding(body)).toEqual(MALFORMED);
    expect(await tryBinding(new Uint8Array(9000))).toEqual({ status: 413, body: { error: 'too-large' } });
    const coded = await fetch(rig.server.url + BINDING_PATH, {
      method: 'POST',
      body: 'x',
      headers: { 'content-encoding': 'gzip' },
    });
    expect([coded.status, await coded.json()]).toEqual([415, { error: 'bad-request' }]);
    const foreign = encodeBindingRequest(
      device,
      toBase64url(randomBytes(32)),
      normaliseCode(deviceCode) ?? '',
      nowInSeconds(),
    );
    expect(await tryBinding(foreign)).toEqual({ status: 403, body: { error: 'request-refused' } });
    const old = request(device, deviceCode, nowInSeconds() - 400);
    expect(await tryBinding(old)).toEqual({ status: 400, body: { error: 'stale-request' } });
    expect(await devicesOf('lena')).toHaveLength(0);
  });

  it('attack 49: SQL, markup and header breaks in every member are data or refused', async () => {
    const device = await createDeviceKeys(rig.provider);
    const before = await overview(rig.server.state);
    const good = {
      code: '0000000000000000',
      ed25519: '',
      publisher: rig.provider.publisher,
      time: nowInSeconds(),
      xwing: '',
    };
    for (const member of Object.keys(good)) {
      for (const text of [
        "' OR 1=1 --",
        "'; DROP TABLE devices; --",
        '<%= process.env %>',
        'a\r\nSet-Cookie: x=1',
        '\u0000',
      ]) {
        const message = signMessage('wispr/1 binding request', { ...good, [member]: text }, device.ed25519.secretKey);
        const answer = await tryBinding(canonicalJson(message as unknown as JsonObject));
        expect(answer).toEqual(MALFORMED);
      }
    }
    expect(await overview(rig.server.state)).toEqual(before);
  });
});

describe('the limits on binding', () => {
  it('attack 46: garbage and requests that are broken off are counted as guesses', async () => {
    const limited = await rigForTest({ limits: { bindingsPerAddress: 2 } });
    const send = (breakOff: boolean) =>
      postFrom('127.0.2.1', limited.server.url, BINDING_PATH, 'garbage', { breakOff });
    expect([await send(true), await send(false)]).toEqual([0, 400]);
    await expect.poll(() => send(false)).toBe(429);
    await bind(limited.provider, await limited.codeFor('paula'));
  });

  it('is bound again by an honest request that is repeated, and nothing is added to what is kept (attack 135)', async () => {
    const limited = await rigForTest({ limits: { changesPerAddress: 3 } });
    const { database } = limited.server.state;
    const device = await createDeviceKeys(limited.provider);
    const code = normaliseCode(await limited.codeFor('paula')) ?? '';
    const request = encodeBindingRequest(device, limited.provider.publisher, code, nowInSeconds());
    const send = async () => (await post(limited.server.url, BINDING_PATH, request)).status;
    const rows = () => database.all("SELECT action FROM audit_news WHERE action = 'device'");
    expect([await send(), await send(), await send(), await send()]).toEqual([200, 200, 200, 429]);
    expect(await rows()).toHaveLength(1);
  });

  it('attack 94: successful bindings are not counted as guesses', async () => {
    const limited = await rigForTest({ limits: { bindingsPerAddress: 2 } });
    for (let count = 0; count < 4; count++) await bind(limited.provider, await limited.codeFor(`reader ${count}`));
    expect((await overview(limited.server.state)).subscribers).toHaveLength(4);
  });
});
