import { describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { lengthPrefixed, utf8 } from '../../core/encoding/bytes.ts';
import { hkdfExpand } from '../../core/keys/hkdf.ts';
import { Vault } from '../../keyserver/storage/vault.ts';

const PLACE = { table: 'sets', row: 'a', keyId: 'a' };
const [first, second] = [randomBytes(32), randomBytes(32)];
const old = await Vault.create(new Map([[1, first]]));
const both = await Vault.create(
  new Map([
    [1, first],
    [2, second],
  ]),
);

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

  it('with a second version of the master key, opens old rows and seals new ones under the new version', async () => {
    expect(await both.tryOpen(PLACE, await old.seal(PLACE, first))).toBeDefined();
    const fresh = await both.seal(PLACE, first);
    expect(fresh[3]).toBe(2);
    expect(await old.tryOpen(PLACE, fresh)).toBeUndefined();
    expect(await both.tryOpen(PLACE, fresh)).toBeDefined();
  });

  it('has a decoy as long as a sealed device key, not under the key of any row', async () => {
    const { place, sealed } = both.decoy;
    expect(await both.open(place, sealed)).toHaveLength(32);
    expect(sealed).toHaveLength((await both.seal(place, first)).length);
    for (const version of [1, 2]) {
      const asRow = Uint8Array.from(sealed);
      asRow[3] = version;
      expect(await both.tryOpen(place, asRow)).toBeUndefined();
    }
  });

  it('knows its MACs again after the master key got another version', async () => {
    const message = randomBytes(20);
    expect(await old.macOf(message)).toEqual(await both.macOf(message));
    expect(await old.macOf(message)).not.toEqual(await old.macOf(randomBytes(20)));
  });

  it('has the seed of the channel key of the oldest master key, of the label that descriptors rely on', async () => {
    const seed = await hkdfExpand(first, lengthPrefixed(utf8('wispr/1 httpcrypt channel key')), 32);
    expect(old.channelSeed).toEqual(seed);
    expect(both.channelSeed).toEqual(seed);
  });
});
