import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { hkdfExpand } from '../../core/crypto/hkdf.ts';
import { lengthPrefixed, utf8 } from '../../core/encoding/bytes.ts';
import { fillSecrets, readSecret, renewSecret } from '../../keyserver/storage/secrets.ts';
import { Vault } from '../../keyserver/storage/vault.ts';
import { type Rig, startRig } from '../support/keyserver-rig.ts';

const [first, second] = [randomBytes(32), randomBytes(32)];
const keys = async () =>
  new Map([
    [2, second],
    [1, first],
  ]);
const vault = await Vault.create(keys);

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

describe('the secrets of a database that was made before they had rows', () => {
  it.each([
    ['failures', 'wispr/1 failures'],
    ['dispatcher', 'wispr/1 dispatcher'],
    ['httpcrypt', 'wispr/1 httpcrypt channel key'],
    ['known-browsers', 'wispr/1 known browsers'],
  ] as const)('%s has the value of the oldest master key that cookies and descriptors rely on', async (name, label) => {
    const { database } = rig.server.state;
    await database.run('DELETE FROM secrets');
    await fillSecrets(database, vault, keys);
    const expected = await hkdfExpand(first, lengthPrefixed(utf8(label)), 32);
    expect(Buffer.from(await readSecret({ database, vault }, name))).toEqual(Buffer.from(expected));
  });

  it('stay where they are there already', async () => {
    const { database } = rig.server.state;
    await renewSecret({ database, vault }, 'httpcrypt');
    const renewed = await readSecret({ database, vault }, 'httpcrypt');
    await fillSecrets(database, vault, keys);
    expect(await readSecret({ database, vault }, 'httpcrypt')).toEqual(renewed);
    const expected = await hkdfExpand(first, lengthPrefixed(utf8('wispr/1 httpcrypt channel key')), 32);
    expect(Buffer.from(renewed)).not.toEqual(Buffer.from(expected));
  });
});
