/** `kill -9` at random moments while the passphrase of a reader's database changes. */
import { expect } from 'vitest';
import { randomBytes } from '#primitives';
import { type StorageOptions, storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { fillStore, secretsIn } from './filled-store.ts';
import { startProgram } from './programs.ts';
import type { storageIn } from './reader-rig.ts';

const PASSPHRASES = ['passphrase one', 'passphrase two'] as const;
/** Set keys, so that a change takes some time. */
const SETS = 200;
/** Milliseconds of several changes. */
const LONGEST = 400;

/** Expects that the database opens with one of the two passphrases after every kill, and that nothing of it is lost. */
export async function killWhileProtecting(storage: ReturnType<typeof storageIn>, kills: number): Promise<void> {
  const saying = (passphrase: string): StorageOptions => ({ ...storage, passphrase: async () => passphrase });
  const open = (passphrase: string) => ReaderStore.open(storeOptions(saying(passphrase)));
  let [current, other]: readonly [string, string] = PASSPHRASES;
  const { set } = await fillStore(saying(current));
  const store = await open(current);
  const ids = Array.from({ length: SETS }, () => toBase64url(randomBytes(32)));
  await store.setKeys.save(1, new Map(ids.map((id) => [id, { key: set.key, notBefore: 0, notAfter: 1 }])));
  store.close();
  const before = await secretsIn(saying(current));
  for (let kill = 0; kill < kills; kill++) {
    const args = [storage.dataDirectory, storage.keyFile, current, other];
    const loop = startProgram('tests/support/reprotect-loop.ts', args);
    await loop.line(/^ready$/);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST));
    await loop.stop('SIGKILL');
    const good = await secretsIn(saying(current)).catch(() => undefined);
    if (good === undefined) [current, other] = [other, current];
    expect(good ?? (await secretsIn(saying(current)))).toEqual(before);
  }
  const again = await open(current);
  for (const id of ids) expect((await again.setKeys.get(1, id))?.notAfter).toBe(1);
  again.close();
}
