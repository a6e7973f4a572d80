import { connect as connectTo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { randomBytes } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { encodeRenewalRequest, RENEWAL_PATH } from '../../core/keys/binding.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH, openKeyAnswer } from '../../core/keys/key-request.ts';
import { type NamedKey, unwrapKey } from '../../core/keys/wrapped-key.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { devicesOf } from '../../keyserver/readers/devices.ts';
import { noteChanges, removeOldChanges } from '../../keyserver/storage/memory.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { load } from '../../node-support/load.ts';
import {
  askForKeys,
  type BoundDevice,
  bind,
  bytesOf,
  createDeviceKeys,
  post,
  sendKeyRequest,
} from '../support/device.ts';
import { rigForFile } from '../support/keyserver-rig.ts';
import { setOf } from '../support/publisher-with-sets.ts';

const DAY = 86_400;
const rig = rigForFile();

async function connect(name: string, grant: { sets?: string[]; until?: number } = {}): Promise<BoundDevice> {
  return bind(rig.provider, await rig.codeFor(name, grant));
}

const day1 = () => setOf(rig.publisher, 'day-1');
const day2 = () => setOf(rig.publisher, 'day-2');

/** A request for the key of a set. */
const requestBy = (key: NamedKey, time = nowInSeconds(), { id } = day1()) =>
  encodeKeyRequest(key, rig.server.url, [id], time);

async function unknownKey(): Promise<NamedKey> {
  const key = randomBytes(32);
  return { id: await keyIdOf('device', key), key };
}

/** Everything of an answer that a stranger could compare. */
async function observe(body: Uint8Array): Promise<unknown> {
  const response = await post(rig.server.url, KEY_REQUEST_PATH, body);
  const headers = [...response.headers].filter(([name]) => name !== 'date');
  return { status: response.status, headers, body: await response.text() };
}

describe('a key request', () => {
  it('is answered with the set keys, wrapped for the device and for thirty days at most', async () => {
    const device = await connect('anna');
    const now = nowInSeconds();
    const answer = await askForKeys(device, [day1().id, day2().id]);
    expect(answer.refused).toEqual([]);
    const keys = await Promise.all(answer.keys.map((wrapped) => unwrapKey(device.deviceKey, wrapped, now)));
    expect(keys.map((key) => Buffer.from(key))).toEqual([day1(), day2()].map(({ key }) => Buffer.from(key)));
    for (const { notAfter, notBefore } of answer.keys) {
      expect(notAfter - now).toBeGreaterThan(30 * DAY - 10);
      expect(notAfter - now).toBeLessThan(30 * DAY + 10);
      expect(notBefore).toBeLessThanOrEqual(now);
    }
  });

  it('gets raw bytes that no cache keeps', async () => {
    const device = await connect('bert');
    const { headers } = await post(rig.server.url, KEY_REQUEST_PATH, await requestBy(device.deviceKey));
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('names the reason for each key that is refused', async () => {
    const until = nowInSeconds() + DAY;
    const device = await connect('dora', { sets: ['day-1'], until });
    const unknown = toBase64url(randomBytes(32));
    const answer = await askForKeys(device, [day1().id, day2().id, unknown]);
    expect(answer.keys).toMatchObject([{ id: day1().id, notAfter: until }]);
    expect(answer.refused).toEqual([day2().id, unknown].map((id) => ({ id, reason: 'not-entitled' })));
    rig.passTime(DAY + 10);
    const request = await requestBy(device.deviceKey, nowInSeconds() + DAY + 10);
    const later = await sendKeyRequest(rig.server.url, device.deviceKey, request);
    rig.passTime(-DAY - 10);
    expect(later).toMatchObject({ keys: [], refused: [{ id: day1().id, reason: 'lapsed' }] });
  });

  it('of a revoked subscriber is refused with the reason, and a new invitation does not revive the old device', async () => {
    const device = await connect('emil');
    const revoked = { name: 'emil', members: 0, devices: 1, sessions: 0, invitations: 0, elsewhere: [] };
    expect(await revokeSubscriber(rig.server.state, 'EMIL')).toEqual(revoked);
    expect((await askForKeys(device, [day1().id])).refused).toEqual([{ id: day1().id, reason: 'revoked' }]);
    const again = await connect('emil');
    expect((await askForKeys(device, [day1().id])).refused).toEqual([{ id: day1().id, reason: 'revoked' }]);
    expect((await askForKeys(again, [day1().id])).keys).toHaveLength(1);
  });

  it('attack 44: an old one, and one from the future, are refused inside the answer', async () => {
    const device = await connect('hanna');
    for (const time of [nowInSeconds() - 310, nowInSeconds() + 310]) {
      const stale = await requestBy(device.deviceKey, time);
      const answer = await sendKeyRequest(rig.server.url, device.deviceKey, stale);
      expect(answer).toMatchObject({ keys: [], refused: [{ reason: 'stale-request' }] });
    }
  });

  it('attack 147: that comes again is answered anew for its device, by what holds by then, and writes nothing', async () => {
    const device = await connect('ines');
    const request = await requestBy(device.deviceKey);
    const { database } = rig.server.state;
    const writing = [vi.spyOn(database, 'run'), vi.spyOn(database, 'runUnflushed'), vi.spyOn(database, 'transaction')];
    const answers = [];
    for (let time = 0; time < 2; time++)
      answers.push(await bytesOf(await post(rig.server.url, KEY_REQUEST_PATH, request)));
    for (const spy of writing) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
    const opened = await Promise.all(answers.map((sealed) => openKeyAnswer(sealed, request, device.deviceKey.key)));
    const [once, again] = opened.map(({ keys }) => keys[0]);
    expect(again).toMatchObject({ id: day1().id, under: device.deviceKey.id });
    expect(again?.wrapped.slice(0, 16)).not.toBe(once?.wrapped.slice(0, 16)); // the nonce
    expect(answers[0]?.subarray(0, 12)).not.toEqual(answers[1]?.subarray(0, 12));
    await revokeSubscriber(rig.server.state, 'ines');
    const later = await sendKeyRequest(rig.server.url, device.deviceKey, request);
    expect(later).toMatchObject({ keys: [], refused: [{ reason: 'revoked' }] });
  });

  it('has its device noted as used once an hour, after the answer', async () => {
    const device = await connect('ilse');
    const seen = async () =>
      (await devicesOf(rig.server.state.database, await rig.idOf('ilse'))).map(({ lastSeen }) => lastSeen);
    const ask = async () => sendKeyRequest(rig.server.url, device.deviceKey, await requestBy(device.deviceKey));
    const { lastSeen } = rig.server.state;
    await ask();
    expect(await seen()).toEqual([null]);
    await lastSeen.store();
    const [first] = await seen();
    expect(first).toBeGreaterThan(nowInSeconds() - 60);
    rig.passTime(100);
    await ask();
    await lastSeen.store();
    rig.passTime(-100);
    expect(await seen()).toEqual([first]);
  });

  it('is refused with 503 while the event loop is late, and told when to ask again', async () => {
    const device = await connect('irma');
    const request = await requestBy(device.deviceKey);
    const ask = () => post(rig.server.url, KEY_REQUEST_PATH, request);
    expect((await ask()).status).toBe(200); // starts the watch of the event loop
    const askLate = async () => {
      for (let times = 0; times < 2; times++) {
        await setTimeout(1);
        const end = performance.now() + 600;
        while (performance.now() < end);
      }
      return (await Promise.all([ask(), ask()])).find(({ status }) => status === 503);
    };
    let refused: Response | undefined;
    for (let times = 0; !refused && times < 5; times++) refused = await askLate();
    const pause = Number(refused?.headers.get('retry-after'));
    expect([pause >= 2, pause <= 10]).toEqual([true, true]);
    await expect.poll(async () => (await ask()).status).toBe(200);
  });

  it('attack 127: is answered while other clients hold back what their requests promise', async () => {
    const device = await connect('ida');
    const { hostname, port, host } = new URL(rig.server.url);
    const taken = vi.spyOn(load, 'begin');
    const slow = Array.from({ length: 5 }, () => connectTo(Number(port), hostname));
    for (const socket of slow)
      socket.write(`POST ${KEY_REQUEST_PATH} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 100\r\n\r\n`);
    await sendKeyRequest(rig.server.url, device.deviceKey, await requestBy(device.deviceKey));
    expect(taken).toHaveBeenCalledTimes(1);
    vi.restoreAllMocks();
    for (const socket of slow) socket.destroy();
  });

  it('attack 47: of a device that was removed is refused, however many changes were forgotten meanwhile', async () => {
    const { database } = rig.server.state;
    await database.run('DELETE FROM changes');
    const device = await connect('ivo');
    const ask = async () => sendKeyRequest(rig.server.url, device.deviceKey, await requestBy(device.deviceKey));
    await removeOldChanges(database);
    expect((await ask()).keys).toHaveLength(1);
    for (let process = 0; process < 700; process++) await noteChanges(database, process, ['readers']);
    expect((await ask()).keys).toHaveLength(1); // a sum of so many is safe
    await revokeSubscriber(rig.server.state, 'ivo');
    await removeOldChanges(database);
    expect(await ask()).toMatchObject({ keys: [], refused: [{ reason: 'revoked' }] });
  });

  it('attack 135: finds in memory what was there, whatever strangers ask to renew', async () => {
    await connect('ilka');
    const numbers = () => rig.server.state.database.all('SELECT * FROM changes ORDER BY process, topic');
    const before = await numbers();
    const keys = await createDeviceKeys(rig.provider);
    const request = encodeRenewalRequest(keys, rig.provider.publisher, nowInSeconds());
    const { status } = await post(rig.server.url, RENEWAL_PATH, request);
    expect([status, await numbers()]).toEqual([403, before]);
  });

  it('attack 45: unknown device and wrong proof get the same answer, byte for byte', async () => {
    const device = await connect('jens');
    const stranger = await unknownKey();
    const unproved = await requestBy({ ...device.deviceKey, key: stranger.key });
    const elsewhere = await encodeKeyRequest(device.deviceKey, 'https://other.example', [day1().id], nowInSeconds());
    const answer = await observe(await requestBy(stranger));
    expect(answer).toMatchObject({ status: 403, body: '{"error":"request-refused"}' });
    expect(await observe(unproved)).toEqual(answer);
    expect(await observe(elsewhere)).toEqual(answer);
    await revokeSubscriber(rig.server.state, 'jens');
    expect(await observe(unproved)).toEqual(answer);
  });

  it('attack 45: unknown device and wrong proof cost the same, and use up no nonce of the keys at rest', async () => {
    const device = await connect('lea');
    const stranger = await unknownKey();
    const { vault } = rig.server.state;
    const [open, seal] = [vi.spyOn(vault, 'open'), vi.spyOn(vault, 'seal')];
    onTestFinished(() => void vi.restoreAllMocks());
    const opened = async (key: NamedKey) => {
      open.mockClear();
      expect(await observe(await requestBy(key))).toMatchObject({ status: 403 });
      return open.mock.calls.map(([{ table, row, keyId }, sealed]) => [table, row.length, keyId.length, sealed.length]);
    };
    const unproved = await opened({ ...device.deviceKey, key: stranger.key });
    expect(unproved).toHaveLength(1);
    expect(await opened(stranger)).toEqual(unproved);
    expect(seal).not.toHaveBeenCalled();
  });

  it('that is malformed or too large is refused without a look at the database', async () => {
    expect(await observe(Buffer.from('{}'))).toMatchObject({ status: 400, body: '{"error":"request-malformed"}' });
    expect(await observe(new Uint8Array(20_000))).toMatchObject({ status: 413, body: '{"error":"too-large"}' });
  });

  it('attack 91: ciphertexts swapped between rows are not handed out', async () => {
    const [anna, thief] = [await connect('lena'), await connect('mallory', { sets: ['day-1'] })];
    const { database } = rig.server.state;
    const swap = async (table: string, column: string, one: string, two: string) => {
      const [first, second] = [await sealedIn(table, column, one), await sealedIn(table, column, two)];
      await database.run(`UPDATE ${table} SET sealed = ? WHERE ${column} = ?`, second, one);
      await database.run(`UPDATE ${table} SET sealed = ? WHERE ${column} = ?`, first, two);
    };
    await swap('sets', 'id', day1().id, day2().id);
    const forSet = await requestBy(thief.deviceKey);
    expect(await observe(forSet)).toMatchObject({ status: 500, body: '{"error":"internal"}' });
    await swap('sets', 'id', day1().id, day2().id);
    expect((await askForKeys(thief, [day1().id])).keys).toHaveLength(1);
    await swap('devices', 'key_id', anna.deviceKey.id, thief.deviceKey.id);
    const asAnna = { id: anna.deviceKey.id, key: thief.deviceKey.key };
    const forDevice = await requestBy(asAnna, undefined, day2());
    expect(await observe(forDevice)).toMatchObject({ status: 500, body: '{"error":"internal"}' });
    expect(rig.log()).toContain('store-unusable');
    await swap('devices', 'key_id', anna.deviceKey.id, thief.deviceKey.id);
  });

  it('attack 43: a set key that is not the key of its id is not handed out', async () => {
    const device = await connect('nora');
    const { database, vault } = rig.server.state;
    const place = { table: 'sets', row: day2().id, keyId: day2().id };
    const right = await sealedIn('sets', 'id', day2().id);
    await database.run('UPDATE sets SET sealed = ? WHERE id = ?', await vault.seal(place, randomBytes(32)), day2().id);
    const request = await requestBy(device.deviceKey, undefined, day2());
    expect(await observe(request)).toMatchObject({ status: 500 });
    await database.run('UPDATE sets SET sealed = ? WHERE id = ?', right, day2().id);
  });
});

describe('the rest of the API', () => {
  it('serves the descriptor as it was imported', async () => {
    const response = await fetch(`${rig.server.url}/.well-known/wispr-provider`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    const row = await readProviderRow(rig.server.state.database);
    expect(Buffer.from(await bytesOf(response))).toEqual(Buffer.from(row?.descriptor ?? []));
  });

  it.each(['/v1/keys', '/v1/bindings', '/-/sign-in', '/v1/keys/x', '/%00'])('answers GET %s with 404', async (path) => {
    const response = await fetch(rig.server.url + path);
    expect([response.status, await response.json()]).toEqual([404, { error: 'not-found' }]);
  });

  it('leads a browser that opens an invitation to the reading site, which gets what stands behind #', async () => {
    const { status, headers } = await fetch(`${rig.server.url}/`, { redirect: 'manual' });
    expect([status, headers.get('cache-control')]).toEqual([303, 'no-store']);
    expect(headers.get('location')).toBe(`${rig.server.readingUrl}/-/join`);
  });
});

async function sealedIn(table: string, column: string, id: string): Promise<Uint8Array> {
  const sql = `SELECT sealed FROM ${table} WHERE ${column} = ?`;
  const row = await rig.server.state.database.first<{ sealed: Uint8Array }>(sql, id);
  if (!row) throw new Error('there is no such row');
  return row.sealed;
}
