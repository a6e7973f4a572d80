/**
 * Links by which subscribers end mail to many. They last, need no sign-in, and give no other right:
 *
 *   token = subscriber id || "." || base64url(HMAC-SHA-256(the secret "unsubscribe" (secrets.ts), subscriber id))
 */
import { equalSecrets, hmacSha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { readSecret } from '../storage/secrets.ts';
import type { KeyServerState } from '../storage/state.ts';

type Keys = Pick<KeyServerState, 'database' | 'vault'>;

const MAC_LENGTH = 32;

export const UNSUBSCRIBE_PATH = '/-/unsubscribe';

/** @param readingSite - its origin */
export async function unsubscribeLink(keys: Keys, readingSite: string, subscriber: number): Promise<string> {
  const token = `${subscriber}.${toBase64url(await macOf(keys, subscriber))}`;
  return `${readingSite}${UNSUBSCRIBE_PATH}?${new URLSearchParams({ token })}`;
}

/** The id of the subscriber whose token it is; `undefined` for what is none. */
export async function findUnsubscribing(keys: Keys, token: string): Promise<number | undefined> {
  const [, id = '', mac = ''] = /^([1-9]\d{0,14})\.([\w-]+)$/.exec(token) ?? [];
  const given = fromBase64url(mac, MAC_LENGTH);
  return given && equalSecrets(given, await macOf(keys, Number(id))) ? Number(id) : undefined;
}

export async function unsubscribe({ database, now }: KeyServerState, subscriber: number): Promise<void> {
  const sql = `INSERT INTO mailings (subscriber, unsubscribed) SELECT id, ? FROM subscribers WHERE id = ?
    ON CONFLICT (subscriber) DO UPDATE SET unsubscribed = coalesce(mailings.unsubscribed, excluded.unsubscribed)`;
  await database.run(sql, now(), subscriber);
}

async function macOf(keys: Keys, subscriber: number): Promise<Uint8Array> {
  return hmacSha256(await readSecret(keys, 'unsubscribe'), utf8(String(subscriber)));
}
