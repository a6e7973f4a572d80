/** Browsers that hold keys themselves, and the sessions that they are used with: docs/spec/web-reader.md, "Devices of browsers". */
import type { Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { SESSION_LIFETIME, sessionHashOf } from './session-tokens.ts';

/** Seconds between two renewals of a session. */
const RENEWAL = 86_400;

/** A browser that is signed in. */
export interface BrowserSession {
  readonly token: string;
  readonly subscriber: Subscriber;
  /** Name of the browser, where it becomes a device. */
  readonly label?: string | undefined;
}

/** Tells whether a session stands, and its subscriber's access too. */
export async function isLiveSession(
  { database, now }: KeyServerState,
  { token, subscriber }: BrowserSession,
): Promise<boolean> {
  const sql = `SELECT 1 FROM sessions JOIN subscribers ON subscribers.id = subscriber
    WHERE token_hash = ? AND subscriber = ? AND expires >= ? AND revoked IS NULL`;
  return (await database.first(sql, sessionHashOf(token), subscriber.id, now())) !== undefined;
}

/** The device that a session is used with. */
export async function deviceOfSession({ database }: KeyServerState, token: string): Promise<number | undefined> {
  const sql = 'SELECT device FROM sessions WHERE token_hash = ?';
  const row = await database.first<{ device: number | null }>(sql, sessionHashOf(token));
  return row?.device ?? undefined;
}

/** Notes which device a session is used with, and renews the session: written where it is another one, and once a day. */
export async function recordDevice({ database, now }: KeyServerState, token: string, device: number): Promise<void> {
  const hash = sessionHashOf(token);
  const expires = now() + SESSION_LIFETIME;
  const known = 'SELECT 1 FROM sessions WHERE token_hash = ? AND device = ? AND expires > ?';
  if (await database.first(known, hash, device, expires - RENEWAL)) return;
  await database.run('UPDATE sessions SET device = ?, expires = ? WHERE token_hash = ?', device, expires, hash);
}

/** Removes browsers that were not used for longest: private windows make a device each time. Their sessions go with them. */
export async function removeSurplusBrowsers(database: Database, subscriber: number, most: number): Promise<void> {
  const sql = `DELETE FROM devices WHERE subscriber = ? AND kind = 'browser' AND id NOT IN (
    SELECT id FROM devices WHERE subscriber = ? AND kind = 'browser'
    ORDER BY CASE WHEN last_seen > created THEN last_seen ELSE created END DESC, id DESC LIMIT ?)`;
  await database.run(sql, subscriber, subscriber, most);
}
