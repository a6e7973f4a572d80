/** A Reader with period keys: docs/spec/keys.md, "Period keys". */
import { beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { canonicalJson, type Json } from '../../core/encoding/canonical-json.ts';
import { ENVELOPE_TARGETS, envelopeTargetOf } from '../../core/keys/envelope.ts';
import { type NamedKey, type WrappedKey, wrapKey } from '../../core/keys/wrapped-key.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { forFile } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { startHostileReaderRig, storedIds } from '../support/reader-rig.ts';

const DAY = 86_400;
const SECRET = 'for subscribers only';

const rig = forFile(startHostileReaderRig);
let count = 0;

beforeEach(() => {
  rig.keyServer.tamper = (answer) => answer;
  rig.keyServer.keyRequests.length = 0;
});

async function periodKey(): Promise<NamedKey> {
  const key = randomBytes(32);
  return { id: await keyIdOf('period', key), key };
}

/** The key server gives period keys with every answer, good for these days from now. */
function give(keys: readonly NamedKey[], from = -DAY, until = 30 * DAY): void {
  rig.keyServer.tamper = async (answer, device) => {
    const validity = { notBefore: nowInSeconds() + from, notAfter: nowInSeconds() + until };
    const given = keys.map((key) => wrapKey(device, { ...key, kind: 'period' }, validity));
    return { ...answer, keys: [...answer.keys, ...(await Promise.all(given))] };
  };
}

const wrap = (period: NamedKey, set: NamedKey, notAfter = nowInSeconds() + DAY) =>
  wrapKey(period, { ...set, kind: 'set' }, { notBefore: 0, notAfter });

/** The publication names an envelope for a period. */
async function putEnvelope(period: NamedKey, keys: readonly WrappedKey[]): Promise<void> {
  const bytes = canonicalJson({ keys } as unknown as Json);
  rig.publisher.publication.wholeFiles.set(envelopeTargetOf(period.id), bytes);
  await rig.publisher.sign(rig.host.files);
}

/** A document of a new set. */
async function publish(set: NamedKey): Promise<string> {
  const path = `/${++count}.html`;
  await rig.publisher.publish(rig.host.files, path, { content: SECRET, set });
  return path;
}

async function read(path: string): Promise<string> {
  const answer = await send(rig.proxy.port, rig.url(path));
  return answer.status === 200 && answer.text === SECRET ? 'read' : String(refusalCode(answer));
}

/** Has the Reader ask for something, so that it gets what the key server gives with it. */
async function ask(): Promise<void> {
  const set = await createSetKey();
  rig.keyServer.grant(set);
  expect(await read(await publish(set))).toBe('read');
  rig.keyServer.keyRequests.length = 0;
}

async function periodWith(...sets: NamedKey[]): Promise<NamedKey> {
  const period = await periodKey();
  give([period]);
  await ask();
  await putEnvelope(period, await Promise.all(sets.map((set) => wrap(period, set))));
  return period;
}

const storedPeriods = () => storedIds(rig, 'period_keys');

describe('with the key of a period', () => {
  it('five documents of five new days are read without a question, also after a restart', async () => {
    const days = await Promise.all(Array.from({ length: 5 }, createSetKey));
    const period = await periodWith(...days.slice(0, 4));
    const paths = [];
    for (const day of days) paths.push(await publish(day));
    expect(await Promise.all(paths.slice(0, 3).map(read))).toEqual(['read', 'read', 'read']);
    expect(await storedPeriods()).toContain(period.id);
    await putEnvelope(period, await Promise.all(days.map((day) => wrap(period, day)))); // the fifth came later
    expect(await Promise.all(paths.map(read))).toEqual(new Array(5).fill('read'));
    expect(rig.keyServer.keyRequests).toEqual([]);
  });

  it('a set that is in no envelope is asked for', async () => {
    await periodWith(await createSetKey());
    const other = await createSetKey();
    rig.keyServer.grant(other);
    expect(await read(await publish(other))).toBe('read');
    expect(rig.keyServer.keyRequests.map(({ keys }) => keys)).toEqual([[other.id]]);
  });

  it('attack 47: that is over, the reader is refused with the reason, and the key is gone', async () => {
    const [period, set] = [await periodKey(), await createSetKey()];
    await putEnvelope(period, [await wrap(period, set)]);
    const path = await publish(set);
    await rig.proxy.close();
    const { dataDirectory: directory, keyFile } = rig.storage;
    const store = await ReaderStore.open({ directory, keyFile });
    const over = { key: period.key, notBefore: 0, notAfter: nowInSeconds() - 1 };
    await store.periodKeys.save(1, new Map([[period.id, over]]));
    store.close();
    await rig.restart();
    rig.keyServer.refusals.set(set.id, 'lapsed');
    expect(await read(path)).toBe('lapsed');
    expect(await storedPeriods()).not.toContain(period.id);
  });

  it('the next one is asked for ahead of time, once and not for each page', async () => {
    const [period, next, ...days] = [await periodKey(), await periodKey(), await createSetKey(), await createSetKey()];
    give([period], -3 * DAY, DAY / 12); // the last twelfth of its time has begun
    await ask();
    await putEnvelope(period, await Promise.all(days.map((day) => wrap(period, day))));
    give([next], -60, 3 * DAY);
    for (const day of days) expect(await read(await publish(day))).toBe('read');
    await expect.poll(() => rig.keyServer.keyRequests.length).toBe(1);
    expect(rig.keyServer.keyRequests[0]?.keys).toContain(period.id);
    expect(await storedPeriods()).toEqual(expect.arrayContaining([period.id, next.id]));
    const [another] = [await createSetKey()];
    await putEnvelope(next, [await wrap(next, another)]);
    expect(await read(await publish(another))).toBe('read');
    expect(rig.keyServer.keyRequests).toHaveLength(1);
  });

  it('the next one is not asked for long before', async () => {
    const day = await createSetKey();
    await periodWith(day);
    expect(await read(await publish(day))).toBe('read');
    await ask(); // requests under way have arrived
    expect(await storedPeriods()).not.toEqual([]);
    expect(rig.keyServer.keyRequests).toEqual([]);
  });
});

describe('attack 42: an envelope', () => {
  const refused = async (keys: (period: NamedKey, set: NamedKey) => Promise<readonly WrappedKey[]>) => {
    const [period, set] = [await periodKey(), await createSetKey()];
    give([period]);
    await ask();
    await putEnvelope(period, await keys(period, set));
    const path = await publish(set);
    const first = await read(path);
    expect(rig.keyServer.keyRequests.map(({ keys: asked }) => asked)).toEqual([[set.id]]);
    return first;
  };

  it('opens nothing where it is of another period or site under the right name; the key server decides', async () => {
    expect(await refused(async (_period, set) => [await wrap(await periodKey(), set)])).toBe('not-entitled');
  });

  it('opens nothing where it is of another period with the right names in it', async () => {
    const renamed = async (period: NamedKey, set: NamedKey) => [
      { ...(await wrap(await periodKey(), set)), under: period.id },
    ];
    expect(await refused(renamed)).toBe('not-entitled');
  });

  it('attack 43: with a key that is not the one it is named opens nothing', async () => {
    const misnamed = async (period: NamedKey, set: NamedKey) => [
      await wrap(period, { id: set.id, key: randomBytes(32) }),
    ];
    expect(await refused(misnamed)).toBe('not-entitled');
  });

  it('opens nothing where the host changes it', async () => {
    const set = await createSetKey();
    const period = await periodKey();
    give([period]);
    await ask();
    await putEnvelope(period, [await wrap(period, set)]);
    const document = await publish(set);
    for (const [path, bytes] of rig.host.files)
      if (path.startsWith(`/${ENVELOPE_TARGETS}`) && path.includes(period.id))
        rig.host.files.set(path, bytes.with(99, (bytes[99] ?? 0) ^ 1));
    expect(await read(document)).toBe('not-entitled');
  });

  it('attack 47: without the period key opens nothing', async () => {
    const [stolen, set] = [await periodKey(), await createSetKey()];
    await putEnvelope(stolen, [await wrap(stolen, set)]);
    expect(await read(await publish(set))).toBe('not-entitled');
  });
});

it('attack 43: a period key is dropped where its name is wrong, or it is for another device; the set keys beside it are good', async () => {
  const [misnamed, foreign, set] = [await periodKey(), await periodKey(), await createSetKey()];
  const stranger = { id: await keyIdOf('device', randomBytes(32)), key: randomBytes(32) };
  rig.keyServer.tamper = async (answer, device) => {
    const validity = { notBefore: 0, notAfter: 2 ** 40 };
    const wrong = wrapKey(device, { id: misnamed.id, key: randomBytes(32), kind: 'period' }, validity);
    const others = wrapKey({ ...stranger, id: device.id }, { ...foreign, kind: 'period' }, validity);
    return { ...answer, keys: [await wrong, await others, ...answer.keys] };
  };
  rig.keyServer.grant(set);
  expect(await read(await publish(set))).toBe('read');
  const stored = await storedPeriods();
  expect([stored.includes(misnamed.id), stored.includes(foreign.id)]).toEqual([false, false]);
});
