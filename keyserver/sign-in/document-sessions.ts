/**
 * Sessions at the origin of the documents. Each belongs to a session of the account, ends with it, and lets documents be read and nothing else. A
 * browser opens one with a code that works once, for a minute. It is brought by a form of the account's own page, and never stands in an address: so
 * a code of one account opens no session in the browser of another person.
 */
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { sessionHashOf } from '../readers/session-tokens.ts';
import { digest } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';

/** Seconds for which a code can be used. */
const CODE_LIFETIME = 60;
const LENGTH = 32;

/**
 * Makes a code for a browser that is signed in.
 *
 * @param sessionToken - of the account
 * @returns `undefined` if the session is none
 */
export async function createEntryCode(state: KeyServerState, sessionToken: string): Promise<string | undefined> {
  const { database, now } = state;
  const session = sessionHashOf(sessionToken);
  if (!session) return undefined;
  const code = randomBytes(LENGTH);
  return database.transaction(async () => {
    await database.run('DELETE FROM entries WHERE expires < ?', now());
    const sql = `INSERT INTO entries (code_hash, session, expires)
      SELECT ?, token_hash, ? FROM sessions WHERE token_hash = ? AND expires >= ?`;
    const codeHash = digest('entry code', code);
    const made = await database.run(sql, codeHash, now() + CODE_LIFETIME, session, now());
    return made === 1 ? toBase64url(code) : undefined;
  });
}

/**
 * Uses a code up. The account's session has one session of documents: an earlier one ends.
 *
 * @returns the token of the new session; `undefined` if the code is none, was used or has expired
 */
export async function enterWithCode(state: KeyServerState, code: string): Promise<string | undefined> {
  const { database, now } = state;
  const codeBytes = fromBase64url(code, LENGTH);
  if (!codeBytes) return undefined;
  return database.transaction(async () => {
    const taken = await database.first<{ session: Uint8Array; expires: number }>(
      'DELETE FROM entries WHERE code_hash = ? RETURNING session, expires',
      digest('entry code', codeBytes),
    );
    if (!taken || taken.expires < now()) return undefined;
    const token = randomBytes(LENGTH);
    const sql = `INSERT INTO document_sessions (token_hash, session) VALUES (?, ?)
      ON CONFLICT (session) DO UPDATE SET token_hash = excluded.token_hash`;
    await database.run(sql, digest('document session token', token), taken.session);
    return toBase64url(token);
  });
}

/** Who reads with a token; `undefined` if its session, or that of the account, has ended. */
export async function findDocumentSession(
  { database, now }: KeyServerState,
  token: string,
): Promise<Subscriber | undefined> {
  const bytes = fromBase64url(token, LENGTH);
  if (!bytes) return undefined;
  return database.first<Subscriber>(
    `SELECT subscribers.id, name, revoked FROM document_sessions
       JOIN sessions ON sessions.token_hash = session JOIN subscribers ON subscribers.id = subscriber
     WHERE document_sessions.token_hash = ? AND expires >= ?`,
    digest('document session token', bytes),
    now(),
  );
}
