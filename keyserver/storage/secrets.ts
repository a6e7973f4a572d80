/**
 * Secrets that the key server makes for itself. They are rows like all others, sealed by the vault, so that they stay when the master key
 * changes, and can change while it stays.
 */
import { randomBytes } from '#primitives';
import type { Database } from './database.ts';
import type { Vault } from './vault.ts';

/**
 * `dispatcher`: what key servers and their dispatcher know each other by. `failures`: for MACs over what limits count. `known-browsers`: for MACs
 * by which a browser is known again. `operators`: for the host name of the operators' pages. `passkeys`: for the user handles of
 * passkeys. `httpcrypt`: the seed of the Ed25519 key pair that signs the server keys of HTTPCrypt, which the descriptor names. `unsubscribe`: for MACs
 * in links that end mail to many.
 */
const NAMES = [
  'dispatcher',
  'failures',
  'httpcrypt',
  'known-browsers',
  'operators',
  'passkeys',
  'unsubscribe',
] as const;
export type SecretName = (typeof NAMES)[number];

export const secretRow = (name: string) => ({ table: 'secrets', row: name, keyId: name });

/** Makes the rows that are missing. If two processes do this at once, both use what the first one made. */
export async function fillSecrets(database: Database, vault: Vault): Promise<void> {
  const known = await database.all<{ name: string }>('SELECT name FROM secrets');
  for (const name of NAMES) {
    if (known.some((row) => row.name === name)) continue;
    const sealed = await vault.seal(secretRow(name), randomBytes(32));
    await database.run('INSERT INTO secrets (name, sealed) VALUES (?, ?) ON CONFLICT DO NOTHING', name, sealed);
  }
}

export interface SecretStore {
  readonly database: Database;
  readonly vault: Vault;
}

/** @throws KeyServerError `store-unusable` */
export async function readSecret({ database, vault }: SecretStore, name: SecretName): Promise<Uint8Array> {
  const row = await database.first<{ sealed: Uint8Array }>('SELECT sealed FROM secrets WHERE name = ?', name);
  return vault.open(secretRow(name), row?.sealed ?? new Uint8Array(0));
}

/** Puts a random value in the place of a secret. */
export async function renewSecret({ database, vault }: SecretStore, name: SecretName): Promise<void> {
  const sealed = await vault.seal(secretRow(name), randomBytes(32));
  await database.run('UPDATE secrets SET sealed = ? WHERE name = ?', sealed, name);
}
