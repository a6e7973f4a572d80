/**
 * Sessions at the origin of the documents. Each belongs to a session of the account, ends with it, and lets documents be read and nothing else. A
 * browser opens one with a code that works once, for a minute. It is brought by a form of the account's own page, and never stands in an address: so
 * a code of one account opens no session in the browser of another person.
 */
import { sessionHashOf } from '../readers/session-tokens.ts';
import { digest, newSecret } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';

/** Seconds for which a code can be used. */
const CODE_LIFETIME = 60;

/** Makes a code for a browser that is signed in. @param sessionToken - of the account @returns `undefined` if the session is none */
export async function createEntryCode(state: KeyServerState, sessionToken: string): Promise<string | undefined> {
  const { database, now } = state;
  const code = newSecret();
  return database.transaction(async () => {
    await database.run('DELETE FROM entries WHERE expires < ?', now());
    const sql = `INSERT INTO entries (code_hash, session, expires)
      SELECT ?, token_hash, ? FROM sessions WHERE token_hash = ? AND expires >= ?`;
    const values = [digest('entry code', code), now() + CODE_LIFETIME, sessionHashOf(sessionToken), now()];
    return (await database.run(sql, ...values)) === 1 ? code : undefined;
  });
}

/**
 * Uses a code up. The account's session has one session of documents: an earlier one ends.
 *
 * @returns the token of the new session; `undefined` if the code is none, was used or has expired
 */
export async function enterWithCode(state: KeyServerState, code: string): Promise<string | undefined> {
  const { database, now } = state;
  return database.transaction(async () => {
    const use = 'DELETE FROM entries WHERE code_hash = ? RETURNING session, expires';
    const taken = await database.first<{ session: Uint8Array; expires: number }>(use, digest('entry code', code));
    if (!taken || taken.expires < now()) return undefined;
    const token = newSecret();
    const sql = `INSERT INTO document_sessions (token_hash, session) VALUES (?, ?)
      ON CONFLICT (session) DO UPDATE SET token_hash = excluded.token_hash`;
    await database.run(sql, digest('document session token', token), taken.session);
    return token;
  });
}

/** Finds the subscriber who reads with a token; `undefined` if its session, or that of the account, has ended. */
export async function findDocumentSession(state: KeyServerState, token: string): Promise<Subscriber | undefined> {
  const sql = `SELECT subscribers.id, name, revoked FROM document_sessions
      JOIN sessions ON sessions.token_hash = session JOIN subscribers ON subscribers.id = subscriber
    WHERE document_sessions.token_hash = ? AND expires >= ?`;
  return state.database.first<Subscriber>(sql, digest('document session token', token), state.now());
}
