import { describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { Vault } from '../../keyserver/storage/vault.ts';

const PLACE = { table: 'sets', row: 'a', keyId: 'a' };
const [first, second] = [randomBytes(32), randomBytes(32)];
const old = await Vault.create(async () => new Map([[1, first]]));
const keys = new Map([
  [1, first],
  [2, second],
]);
const both = await Vault.create(async () => keys);

describe('the vault', () => {
  it('opens what it sealed, at its place', async () => {
    const sealed = await old.seal(PLACE, second);
    expect(Buffer.from(await old.open(PLACE, sealed))).toEqual(Buffer.from(second));
  });

  it.each([
    { ...PLACE, table: 'devices' },
    { ...PLACE, row: 'b' },
    { ...PLACE, keyId: 'b' },
    { table: 'setsa', row: '', keyId: 'a' },
  ])('attack 91: opens nothing at another place: %j', async (place) => {
    const sealed = await old.seal(PLACE, second);
    await expect(old.open(place, sealed)).rejects.toMatchObject({ code: 'store-unusable' });
  });

  it('opens nothing that was altered or cut', async () => {
    const sealed = await old.seal(PLACE, second);
    for (let offset = 0; offset < sealed.length; offset++) {
      const altered = Uint8Array.from(sealed);
      altered[offset] = (altered[offset] ?? 0) ^ 1;
      expect(await old.tryOpen(PLACE, altered)).toBeUndefined();
      expect(await old.tryOpen(PLACE, sealed.subarray(0, offset))).toBeUndefined();
    }
  });

  it('has a decoy as long as a sealed device key, not under the key of any row', async () => {
    const { ref, sealed } = both.decoy;
    expect(await both.open(ref, sealed)).toHaveLength(32);
    expect(sealed).toHaveLength((await both.seal(ref, first)).length);
    for (const version of [1, 2]) {
      const asRow = Uint8Array.from(sealed);
      asRow[3] = version;
      expect(await both.tryOpen(ref, asRow)).toBeUndefined();
    }
  });
});
