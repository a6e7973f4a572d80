/** The keys of a new publisher, and its first root. */
import { ed25519KeyPair, randomBytes } from '#primitives';
import { KEY_LENGTH, type KeyId } from '../../core/crypto/key-id.ts';
import { roleSigner } from '../../core/publication/keys.ts';
import { ROLE_VALIDITY, rootIdOf, rootMetadata, signMetadata } from '../../core/publication/writer.ts';
import type { Argon2idCost } from '../../node-support/argon2id.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { readKeyStore, withLock, workspaceOf } from '../workspace/workspace.ts';
import type { KeysOptions } from './change-roots.ts';
import { replaceFile } from './file-update.ts';
import { encodeContents, KEY_STORE_KIND, openKeyStore } from './key-store.ts';
import { createSealedFile } from './sealed-file.ts';
import { createSigningKeys, openSigningKeysIfOurs } from './signing-keys.ts';

export interface NewKeys {
  readonly keyStore: Uint8Array;
  /** The bytes of `root.keys`: all that can change the roles. */
  readonly rootKeys: Uint8Array;
  readonly rootId: KeyId;
}

/**
 * Makes the keys of a publisher, under one passphrase.
 *
 * @param cost - for tests: a cheaper password hash
 * @throws PublishError `passphrase-too-short`
 */
export async function createKeys(passphrase: string, cost?: Argon2idCost): Promise<NewKeys> {
  const [rootSeed, publisherSeed] = [randomBytes(KEY_LENGTH), randomBytes(KEY_LENGTH)];
  const seeds = {
    targets: randomBytes(KEY_LENGTH),
    snapshot: randomBytes(KEY_LENGTH),
    timestamp: randomBytes(KEY_LENGTH),
  };
  const root = await firstRoot({ ...seeds, root: rootSeed }, nowInSeconds());
  const contents = {
    invitations: [],
    kept: [],
    pending: [],
    periods: [],
    publication: 0,
    publisherSeed,
    roots: [root],
    sections: new Map(),
    seeds,
    serial: 0,
    setsSince: new Map(),
    sets: new Map(),
    workspace: randomBytes(16),
  };
  const keyStore = await createSealedFile(KEY_STORE_KIND, passphrase, encodeContents(contents), cost);
  const rootKeys = await createSigningKeys(passphrase, [rootSeed], { cost });
  return { keyStore, rootKeys, rootId: await rootIdOf(root) };
}

/** `1.root.json`: one key for each role. */
async function firstRoot(
  seeds: Readonly<Record<'root' | 'targets' | 'snapshot' | 'timestamp', Uint8Array>>,
  now: number,
): Promise<Uint8Array> {
  const role = (seed: Uint8Array) => ({ publicKeys: [ed25519KeyPair(seed).publicKey], threshold: 1 });
  const signed = await rootMetadata(
    { version: 1, expires: now + ROLE_VALIDITY.root },
    {
      root: role(seeds.root),
      targets: role(seeds.targets),
      snapshot: role(seeds.snapshot),
      timestamp: role(seeds.timestamp),
    },
  );
  return signMetadata(signed, [await roleSigner(ed25519KeyPair(seeds.root))]);
}

/**
 * Seals the key store under a new passphrase, and the root keys if they are here and open under the previous one.
 *
 * @returns the files that were sealed anew
 * @throws PublishError `passphrase-wrong`, `passphrase-too-short`; nothing was changed then
 */
export function changePassphrase(
  { configurationFile, passphrase, rootKeys: named }: KeysOptions,
  newPassphrase: string,
): Promise<string[]> {
  const workspace = workspaceOf(configurationFile);
  const rootKeysFile = named ?? workspace.rootKeys;
  return withLock(workspace, async () => {
    const { contents } = await openKeyStore(await readKeyStore(workspace), passphrase);
    const keyStore = await createSealedFile(KEY_STORE_KIND, newPassphrase, encodeContents(contents));
    const rootKeys = await resealRootKeys(rootKeysFile, passphrase, newPassphrase);
    // A kill between the two: each opens under one of the two passphrases, and the command can be run again.
    if (rootKeys) await replaceFile(rootKeysFile, rootKeys);
    await replaceFile(workspace.keyStore, keyStore);
    return [workspace.keyStore, ...(rootKeys ? [rootKeysFile] : [])];
  });
}

/** Reseals root keys, unless they have a passphrase of their own. */
async function resealRootKeys(
  file: string,
  passphrase: string,
  newPassphrase: string,
): Promise<Uint8Array | undefined> {
  const keys = await openSigningKeysIfOurs(file, passphrase);
  return keys && createSigningKeys(newPassphrase, keys.seeds, { rootId: keys.rootId });
}
