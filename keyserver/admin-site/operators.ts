/** Operators: who may open the operators' pages, the links with which they register a passkey, and their sessions. Of secrets only digests are stored. */
import { toHex } from '../../core/encoding/hex.ts';
import type { ListenerConfig } from '../config/config.ts';
import { mistyped } from '../errors.ts';
import type { NewCode } from '../readers/invitations.ts';
import { audit } from '../storage/audit.ts';
import { digest, newSecret } from '../storage/digest.ts';
import { readSecret, type SecretStore } from '../storage/secrets.ts';
import type { KeyServerState } from '../storage/state.ts';

const NAME = /^[\w.-]{1,64}$/;
/** Seconds for which a link can be used, and for which a session lasts. */
const LINK_LIFETIME = 86_400;
export const OPERATOR_SESSION_LIFETIME = 12 * 3600;

export interface Operator {
  readonly id: number;
  readonly name: string;
  /** End of the session, or of the link. */
  readonly expires: number;
}

/** Seconds for which a passkey counts for whatever changes something. */
const CONFIRMED_FOR = 600;

/** Tells whether an operator's session was begun by a passkey just now. */
export function isConfirmed({ expires }: Operator, now: number): boolean {
  return now - (expires - OPERATOR_SESSION_LIFETIME) < CONFIRMED_FOR;
}

/** Times in seconds since 1970. */
export interface OperatorOverview {
  readonly name: string;
  readonly created: number;
  readonly passkeys: number;
  readonly lastUsed: number | null;
}

/**
 * Makes an operator, where there is none of this name, and a code with which a browser registers one passkey.
 *
 * @throws KeyServerError `argument-invalid`
 */
export async function inviteOperator(state: KeyServerState, name: string): Promise<NewCode> {
  if (!NAME.test(name)) throw mistyped('a name of an operator has letters, digits, "-", "_" and "."');
  const { database, now } = state;
  const code = newSecret();
  const expires = now() + LINK_LIFETIME;
  await database.transaction(async () => {
    await database.run('DELETE FROM operator_secrets WHERE expires < ?', now());
    await database.run('INSERT INTO operators (name, created) VALUES (?, ?) ON CONFLICT DO NOTHING', name, now());
    const sql = 'INSERT INTO operator_secrets (hash, operator, expires) SELECT ?, id, ? FROM operators WHERE name = ?';
    await database.run(sql, digest('operator link', code), expires, name);
    await audit(state, 'operator', name, { expires });
  });
  return { code, expires };
}

export async function listOperators({ database }: KeyServerState): Promise<OperatorOverview[]> {
  const sql = `SELECT name, operators.created, count(operator_passkeys.id) AS passkeys, max(last_used) AS "lastUsed"
    FROM operators LEFT JOIN operator_passkeys ON owner = operators.id
    GROUP BY operators.id, name, operators.created ORDER BY name`;
  return database.all(sql);
}

/** Ends sessions, passkeys and links of an operator. @throws KeyServerError `argument-invalid` */
export async function removeOperator(state: KeyServerState, name: string): Promise<void> {
  const { database } = state;
  await database.transaction(async () => {
    if ((await database.run('DELETE FROM operators WHERE name = ?', name)) === 0)
      throw mistyped('there is no operator of this name');
    await audit(state, 'operator-removed', name);
  });
}

/** Finds the operator of a link that can still be used. */
export async function findOperatorLink(state: KeyServerState, code: string): Promise<Operator | undefined> {
  return findBySecret(state, digest('operator link', code));
}

/** Uses a link up. @returns whether it was there */
export async function useOperatorLink({ database }: KeyServerState, code: string): Promise<boolean> {
  return (await database.run('DELETE FROM operator_secrets WHERE hash = ?', digest('operator link', code))) === 1;
}

/** @returns the token of the new session */
export async function beginOperatorSession({ database, now }: KeyServerState, operator: number): Promise<string> {
  const token = newSecret();
  await database.run('DELETE FROM operator_secrets WHERE expires < ?', now());
  const sql = 'INSERT INTO operator_secrets (hash, operator, expires) VALUES (?, ?, ?)';
  await database.run(sql, digest('operator session', token), operator, now() + OPERATOR_SESSION_LIFETIME);
  return token;
}

/** Finds the operator of a session; `undefined` where it has ended. */
export async function findOperator(state: KeyServerState, token: string): Promise<Operator | undefined> {
  return findBySecret(state, digest('operator session', token));
}

export async function endOperatorSession({ database }: KeyServerState, token: string): Promise<void> {
  await database.run('DELETE FROM operator_secrets WHERE hash = ?', digest('operator session', token));
}

async function findBySecret({ database, now }: KeyServerState, hash: Uint8Array): Promise<Operator | undefined> {
  const sql = `SELECT operators.id, name, expires FROM operator_secrets JOIN operators ON operators.id = operator
    WHERE hash = ? AND expires >= ?`;
  return database.first<Operator>(sql, hash, now());
}

/**
 * Finds the origin of the operators' pages: on loopback a host below `localhost` that only operators know, and the same at every start. Cookies do
 * not tell ports apart, so another program at a port of a host that it could name would be sent the session.
 *
 * @param port - listened on
 */
export async function adminOrigin(
  state: SecretStore,
  { origin }: Pick<ListenerConfig, 'origin'>,
  port: number,
): Promise<string> {
  if (origin !== undefined) return origin;
  return `http://wispr-admin-${toHex((await readSecret(state, 'operators')).subarray(0, 8))}.localhost:${port}`;
}
