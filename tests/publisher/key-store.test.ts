import { describe, expect, it, vi } from 'vitest';
import { sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { canonicalJson, type JsonObject, parseCanonicalJson } from '../../core/encoding/canonical-json.ts';
import type * as argon2id from '../../node-support/argon2id.ts';
import { createKeys } from '../../publisher/keys/create-keys.ts';
import { openKeyStore } from '../../publisher/keys/key-store.ts';
import { openSigningKeys } from '../../publisher/keys/signing-keys.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const created = await createKeys(PASSPHRASE);

/** The same store with other members, and a digest that fits: what an attacker would write to have it read. */
async function altered(change: (store: JsonObject) => void): Promise<Uint8Array> {
  const { digest: _, ...store } = parseCanonicalJson(created.keyStore) as JsonObject;
  change(store as JsonObject);
  return canonicalJson({
    ...store,
    digest: toBase64url(await sha256(canonicalJson(store as JsonObject))),
  } as JsonObject);
}

describe('the key store', () => {
  it('opens with its passphrase, and keeps what is sealed into it', async () => {
    const store = await openKeyStore(created.keyStore, PASSPHRASE);
    expect(store.rootId).toBe(created.rootId);
    expect(store.contents.serial).toBe(0);
    const sets = new Map([['__proto__', new Uint8Array(32).fill(7)]]);
    const again = await openKeyStore(await store.seal({ ...store.contents, serial: 5, sets }), PASSPHRASE);
    expect(again.contents).toEqual({ ...store.contents, serial: 5, sets, setsSince: expect.any(Map) });
  });

  it('dates the key of a set, as long as it is the same', async () => {
    const store = await openKeyStore(created.keyStore, PASSPHRASE);
    const sets = new Map([['a', new Uint8Array(32).fill(1)]]);
    const once = await openKeyStore(await store.seal({ ...store.contents, sets }), PASSPHRASE);
    expect(once.contents.setsSince.get('a')).toBeGreaterThan(1_700_000_000);
    const dated = { ...once.contents, setsSince: new Map([['a', 5]]) };
    const old = await openKeyStore(await once.seal(dated), PASSPHRASE);
    expect(old.contents.setsSince).toEqual(once.contents.setsSince);
  });

  it('does not open as another kind of key file, nor another as it', async () => {
    const kind = { code: 'key-file-refused' };
    await expect(openKeyStore(created.rootKeys, PASSPHRASE)).rejects.toMatchObject(kind);
    await expect(openSigningKeys(created.keyStore, PASSPHRASE, 'root.keys')).rejects.toMatchObject(kind);
    const newer = await altered((store) => {
      store.version = 'wispr key store 3';
    });
    await expect(openKeyStore(newer, PASSPHRASE)).rejects.toMatchObject({ code: 'key-file-refused' });
  });

  it('says that the public half was named', async () => {
    const named = openSigningKeys(Buffer.from('# Public key of a signer'), PASSPHRASE, 'ada.key.pub');
    await expect(named).rejects.toMatchObject({ message: expect.stringContaining('no .pub') });
  });

  it('holds nothing in clear', () => {
    const text = Buffer.from(created.keyStore).toString();
    expect(Object.keys(JSON.parse(text)).sort()).toEqual(['argon2id', 'digest', 'sealed', 'version']);
    expect(text).not.toContain(PASSPHRASE);
  });

  it('takes the parameters of RFC 9106 section 4, second option', async () => {
    // Tests have cheaper ones (tests/support/cheap-passwords.ts).
    const { newParameters } = await vi.importActual<typeof argon2id>('../../node-support/argon2id.ts');
    expect(newParameters(new Uint8Array(16))).toMatchObject({ memory: 64 * 1024, passes: 3, parallelism: 4 });
  });

  it('opens with the passphrase in either form of its accents', async () => {
    const { keyStore, rootId } = await createKeys('caf\u00e9 au lait');
    expect((await openKeyStore(keyStore, 'cafe\u0301 au lait')).rootId).toBe(rootId);
  });

  it('refuses a passphrase of fewer than eight characters', async () => {
    await expect(createKeys('1234567')).rejects.toMatchObject({ code: 'passphrase-too-short' });
    await expect(createKeys('')).rejects.toMatchObject({ code: 'passphrase-too-short' });
  });

  it('says that a wrong passphrase is one', async () => {
    await expect(openKeyStore(created.keyStore, `${PASSPHRASE} `)).rejects.toMatchObject({ code: 'passphrase-wrong' });
  });

  it('says that a damaged file is damaged', async () => {
    const flipped = Uint8Array.from(created.keyStore);
    flipped[200] = (flipped[200] ?? 0) ^ 1;
    const damaged = [flipped, created.keyStore.subarray(0, -1), new Uint8Array(0), Buffer.from('{}')];
    for (const bytes of damaged) {
      await expect(openKeyStore(bytes, PASSPHRASE)).rejects.toMatchObject({ code: 'key-store-refused' });
    }
  });

  it.each([
    { memory: 0 },
    { memory: 1024 },
    { memory: 2 ** 31 },
    { memory: 2 ** 53 - 1 },
    { passes: 0 },
    { passes: 2 ** 32 },
    { parallelism: 0 },
    { parallelism: 2 ** 24 },
    { salt: '' },
    { salt: 'A'.repeat(22 * 1000) },
    { extra: 1 },
  ])('attack 48: refuses %j without computing anything', async (parameters) => {
    const bytes = await altered((store) => {
      store.argon2id = { ...(store.argon2id as JsonObject), ...parameters };
    });
    const before = process.cpuUsage();
    await expect(openKeyStore(bytes, PASSPHRASE)).rejects.toMatchObject({ code: 'key-store-refused' });
    expect(process.cpuUsage(before).user).toBeLessThan(50_000); // microseconds of all threads, however busy the machine is
  });
});
