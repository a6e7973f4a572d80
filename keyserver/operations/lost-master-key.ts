/**
 * Goes on without the master key: everything that it encrypted is lost, and everything else stays, such as subscribers, plans, grants, passwords
 * and which devices there are. The publisher's next bundle brings the set keys again, and devices get new device keys by themselves.
 */
import { randomBytes, xwingKeyPair } from '#primitives';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError, unfit } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import type { Store } from '../storage/database.ts';
import { createMasterKey, hasMasterKey, nameOfSource, readMasterKeys, withNewKey } from '../storage/master-key.ts';
import { fillSecrets } from '../storage/secrets.ts';
import { CANARY, CANARY_PLACE, recipientRow, storeOf, writePublicKey } from '../storage/state.ts';
import { Vault } from '../storage/vault.ts';
import { commandActor } from '../storage/with-state.ts';
import { forgetDeviceKeys } from './rotate.ts';

/**
 * Makes a new master key, and puts the database under it. No key server may run. Cut short, it is done again.
 *
 * @throws KeyServerError `argument-invalid` where there is a master key; `store-unusable`
 */
export async function replaceLostMasterKey(config: KeyServerConfig): Promise<void> {
  const { masterKey } = config;
  const store = await storeOf(config);
  if ((await store.occupancy()) !== 'filled')
    throw new KeyServerError('store-unusable', `there is no database at ${store.name}`);
  const isFile = typeof masterKey === 'string';
  if (isFile && hasMasterKey(masterKey))
    throw unfit(`there is a master key at ${masterKey}: if it is of another database, move it away first`);
  const keys = isFile ? withNewKey(new Map()) : await readMasterKeys(masterKey);
  const vault = await Vault.create(async () => keys);
  if (!isFile && (await opens(store, vault)))
    throw unfit(`${nameOfSource(masterKey)} holds the master key of this database`);
  const publicKey = await startAgain(store, vault);
  if (isFile) createMasterKey(masterKey, keys); // the next run does all of it again until the key is there
  writePublicKey(config.publicKey, publicKey);
}

async function opens(store: Store, vault: Vault): Promise<boolean> {
  let known = false;
  await store.inspect(async (database) => {
    const row = await database.first<{ sealed: Uint8Array }>('SELECT sealed FROM canary');
    known = row !== undefined && (await vault.tryOpen(CANARY_PLACE, row.sealed)) !== undefined;
  });
  return known;
}

async function startAgain(store: Store, vault: Vault): Promise<Uint8Array> {
  const seed = randomBytes(32);
  const { publicKey } = xwingKeyPair(seed);
  const canary = await vault.seal(CANARY_PLACE, CANARY);
  const recipient = await vault.seal(await recipientRow(publicKey), seed);
  const database = await store.open(async () => undefined);
  try {
    await database.transaction(async () => {
      for (const table of UNREADABLE) await database.run(`DELETE FROM ${table}`);
      await forgetDeviceKeys(database);
      await database.run('UPDATE canary SET sealed = ?', canary);
      await database.run('UPDATE recipient SET public_key = ?, sealed = ?', publicKey, recipient);
      await fillSecrets(database, vault);
      await audit({ database, now: nowInSeconds, actor: commandActor() }, 'rotate', 'master', { outcome: 'lost' });
    });
    return publicKey;
  } catch (error) {
    throw store.explain(error);
  } finally {
    await database.close();
  }
}

/** Tables that cannot be decrypted. */
const UNREADABLE = ['former_recipients', 'periods', 'secrets', 'sets', 'ticket_key', 'timestamp_key'];
