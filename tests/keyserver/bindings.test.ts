import { describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { canonicalJson, type JsonObject } from '../../core/encoding/canonical-json.ts';
import { BINDING_PATH } from '../../core/keys/binding.ts';
import type { DeviceKeys } from '../../core/keys/device.ts';
import { signMessage } from '../../core/keys/sealed-message.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { devicesOf as listDevices, removeDevice } from '../../keyserver/readers/devices.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { askForKeys, bind, bindingRequest, createDeviceKeys, post, postFrom } from '../support/device.ts';
import { rigForFile, rigForTest } from '../support/keyserver-rig.ts';
import { setOf } from '../support/publisher-with-sets.ts';

const DAY = 86_400;
const rig = rigForFile();

const request = (device: DeviceKeys, code: string, time?: number) => bindingRequest(device, rig.provider, code, time);

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
  it('answers a device that lost the answer afresh, and keeps one row for it', async () => {
    const deviceCode = await rig.codeFor('bert');
    const keys = await createDeviceKeys(rig.provider);
    await bind(rig.provider, deviceCode, keys);
    const second = await bind(rig.provider, deviceCode, keys);
    expect(await devicesOf('bert')).toMatchObject([{ id: second.deviceKey.id.slice(0, 8), revoked: null }]);
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
    const [henry, { state }] = [await rig.idOf('henry'), rig.server];
    const [row] = await listDevices(state.database, henry);
    expect(await removeDevice(state, henry, row?.id ?? 0)).toBe(true);
    await expect(bind(rig.provider, code, device.keys)).rejects.toThrow('code-refused');
  });

  it('attack 46: a code that is guessed, used, expired, revoked or for another purpose gets one and the same refusal', async () => {
    const codeFor = (name: string) => rig.codeFor(name, { validDays: 1 });
    const [used, expired, revoked] = [await codeFor('emil'), await codeFor('frieda'), await codeFor('gustav')];
    const device = await createDeviceKeys(rig.provider);
    await bind(rig.provider, used);
    await revokeSubscriber(rig.server.state, 'gustav');
    for (const code of ['0000000000000000', used, used, revoked])
      expect(await tryBinding(request(device, code))).toEqual(REFUSED);
    rig.passTime(DAY + 1);
    expect(await tryBinding(request(device, expired, nowInSeconds() + DAY + 1))).toEqual(REFUSED);
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
    const coded = await post(rig.server.url, BINDING_PATH, 'x', { 'content-encoding': 'gzip' });
    expect([coded.status, await coded.json()]).toEqual([415, { error: 'bad-request' }]);
    const foreign = bindingRequest(device, { publisher: toBase64url(randomBytes(32)) }, deviceCode);
    expect(await tryBinding(foreign)).toEqual({ status: 403, body: { error: 'request-refused' } });
    const old = request(device, deviceCode, nowInSeconds() - 400);
    expect(await tryBinding(old)).toEqual({ status: 400, body: { error: 'stale-request' } });
    expect(await devicesOf('lena')).toHaveLength(0);
  });

  it('attack 49: SQL, markup and header breaks in every member are data or refused', async () => {
    const device = await createDeviceKeys(rig.provider);
    const before = await overview(rig.server.state);
    const { publisher } = rig.provider;
    const good = { code: '0000000000000000', ed25519: '', publisher, time: nowInSeconds(), xwing: '' };
    const hostile = ["'; DROP TABLE devices; --", '<%= process.env %>', 'a\r\nSet-Cookie: x=1', '\u0000'];
    for (const member of Object.keys(good)) {
      for (const text of hostile) {
        const message = signMessage('wispr/1 binding request', { ...good, [member]: text }, device.ed25519.secretKey);
        const answer = await tryBinding(canonicalJson(message as unknown as JsonObject));
        expect(answer).toEqual(MALFORMED);
      }
    }
    expect(await overview(rig.server.state)).toEqual(before);
  });
});

describe('the limits on binding', () => {
  const limited = rigForFile({ limits: { bindingsPerAddress: 2 } });

  it('attack 94: successful bindings are not counted as guesses', async () => {
    for (let count = 0; count < 4; count++) await bind(limited.provider, await limited.codeFor(`reader ${count}`));
    expect((await overview(limited.server.state)).subscribers).toHaveLength(4);
  });

  it('attack 46: garbage and requests that are broken off are counted as guesses', async () => {
    const send = (breakOff: boolean) =>
      postFrom('127.0.2.1', limited.server.url, BINDING_PATH, 'garbage', { breakOff });
    expect([await send(true), await send(false)]).toEqual([0, 400]);
    await expect.poll(() => send(false)).toBe(429);
    await bind(limited.provider, await limited.codeFor('paula'));
  });

  it('is bound again by an honest request that is repeated, and nothing is added to what is kept (attack 135)', async () => {
    const { server, provider, codeFor } = await rigForTest({ limits: { changesPerAddress: 3 } });
    const request = bindingRequest(await createDeviceKeys(provider), provider, await codeFor('paula'));
    const send = async () => (await post(server.url, BINDING_PATH, request)).status;
    expect([await send(), await send(), await send(), await send()]).toEqual([200, 200, 200, 429]);
    const rows = await server.state.database.all("SELECT action FROM audit_news WHERE action = 'device'");
    expect(rows).toHaveLength(1);
  });
});
