/**
 * Tokens for what comes over the network. One for publishing allows handing over bundles and publications, which are signed besides; one for
 * subscriptions allows beginning and ending them, and making invitations. Neither allows anything else.
 */
import { timingSafeEqual } from 'node:crypto';
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { KeyServerError, mistyped, unfit } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import { digest } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';

export const TOKEN_SCOPES = ['publish', 'subscriptions'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

const NAME = /^[\w.-]{1,64}$/;
const DAY = 86_400;
const MAXIMUM_DAYS = 3650;
/** Seconds at least between two updates of when a token was last used. */
const LAST_USED_INTERVAL = 60;

export interface TokenOverview {
  readonly name: string;
  readonly scope: TokenScope;
  /** Seconds since 1970, as are the others. */
  readonly created: number;
  readonly expires: number;
  readonly lastUsed: number | null;
}

export interface CreatedToken {
  readonly name: string;
  readonly expires: number;
  /** Shown once; only its digest is kept. */
  readonly token: string;
}

/** Makes a token. @throws KeyServerError `argument-invalid`, also if there is one of this name that has not expired */
export async function createToken(
  state: KeyServerState,
  name: string,
  days: number,
  scope: TokenScope = 'publish',
): Promise<CreatedToken> {
  const { database, now } = state;
  if (!NAME.test(name))
    throw mistyped(`"${name}" cannot be the name of a token: letters, digits, "-", "_", "." can be in it`);
  if (!Number.isInteger(days) || days < 1 || days > MAXIMUM_DAYS)
    throw mistyped(`a token is good for 1 to ${MAXIMUM_DAYS} whole days`);
  const token = `wispr-${scope}-${toBase64url(randomBytes(32))}`; // recognised where it does not belong
  const expires = now() + days * DAY;
  await database.transaction(async () => {
    await database.run('DELETE FROM tokens WHERE name = ? AND expires < ?', name, now());
    const sql =
      'INSERT INTO tokens (name, token_hash, created, expires, scope) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING';
    if ((await database.run(sql, name, digestOf(token), now(), expires, scope)) === 0)
      throw mistyped(`there is a token "${name}" already; take another --name, or --revoke it`);
    await audit(state, 'token', name, { scope, expires });
  });
  return { name, expires, token };
}

/** Lists all tokens, without their secrets. */
export async function listTokens({ database }: KeyServerState): Promise<TokenOverview[]> {
  return database.all('SELECT name, scope, created, expires, last_used AS "lastUsed" FROM tokens ORDER BY name');
}

/** Refuses a token from the next request on. @throws KeyServerError `argument-invalid` */
export async function revokeToken(state: KeyServerState, name: string): Promise<void> {
  const { database } = state;
  await database.transaction(async () => {
    if ((await database.run('DELETE FROM tokens WHERE name = ?', name)) === 0)
      throw unfit(`there is no token "${name}"`);
    await audit(state, 'token-revoked', name);
  });
}

/**
 * Checks what stands in the header `Authorization`. All digests are compared, each in constant time.
 *
 * @returns the token's name
 * @throws KeyServerError `token-refused`, for every reason
 */
export async function checkToken(
  { database, now }: KeyServerState,
  authorization: string | undefined,
  scope: TokenScope,
): Promise<string> {
  const [, given = ''] = /^Bearer (\S{1,128})$/i.exec(authorization ?? '') ?? [];
  const hash = digestOf(given);
  const rows = await database.all<{ id: number; name: string; token_hash: Uint8Array; last_used: number | null }>(
    'SELECT id, name, token_hash, last_used FROM tokens WHERE expires >= ? AND scope = ?',
    now(),
    scope,
  );
  const [found] = rows.filter((row) => timingSafeEqual(row.token_hash, hash));
  if (!found) throw new KeyServerError('token-refused', 'no such token for this, or it has expired');
  if (now() - (found.last_used ?? 0) > LAST_USED_INTERVAL)
    await database.run('UPDATE tokens SET last_used = ? WHERE id = ?', now(), found.id);
  return found.name;
}

function digestOf(token: string): Uint8Array {
  return digest('publishing token', token);
}
