/** The seed of the timestamp role, at rest: encrypted like every key. */
import { ed25519KeyPair, type KeyPair, sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { KeyServerError } from '../errors.ts';
import type { KeyServerState } from '../storage/state.ts';

/** The seed as it stands in the database. */
export interface SealedTimestampKey {
  /** base64url of SHA-256 of the public key: names the row. */
  readonly id: string;
  readonly sealed: Uint8Array;
}

export async function sealTimestampKey({ vault }: KeyServerState, seed: Uint8Array): Promise<SealedTimestampKey> {
  const id = toBase64url(await sha256(ed25519KeyPair(seed).publicKey));
  return { id, sealed: await vault.seal(timestampKeyRow(id), seed) };
}

/** The timestamp key pair; `undefined` where the publisher keeps it. @throws KeyServerError `store-unusable` */
export async function readTimestampKey({ database, vault }: KeyServerState): Promise<KeyPair | undefined> {
  const row = await database.first<{ key_id: string; sealed: Uint8Array }>('SELECT key_id, sealed FROM timestamp_key');
  if (!row) return undefined;
  const pair = ed25519KeyPair(await vault.open(timestampKeyRow(row.key_id), row.sealed));
  if (toBase64url(await sha256(pair.publicKey)) === row.key_id) return pair;
  throw new KeyServerError('store-unusable', 'the timestamp key in the database is not the one that it is named');
}

export const timestampKeyRow = (id: string) => ({ table: 'timestamp_key', row: '1', keyId: id });
