/** Browsers that hold keys themselves, and the sessions that they are used with: docs/spec/web-reader.md, "Devices of browsers". */
import { first, run } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { SESSION_LIFETIME, sessionHashOf } from './accounts.ts';
import type { Subscriber } from './subscribers.ts';

/** Devices of one subscriber that are browsers. */
const MAXIMUM_BROWSERS = 20;

/** A browser that is signed in. */
export interface BrowserSession {
  readonly token: string;
  readonly subscriber: Subscriber;
}

/** Whether a session stands, and its subscriber's access too. */
export function isLiveSession({ database, now }: KeyServerState, { token, subscriber }: BrowserSession): boolean {
  const sql = `SELECT 1 FROM sessions JOIN subscribers ON subscribers.id = subscriber
    WHERE token_hash = ? AND subscriber = ? AND expires >= ? AND revoked IS NULL`;
  return first(database, sql, sessionHashOf(token) ?? null, subscriber.id, now()) !== undefined;
}

/** The device that a session is used with. */
export function deviceOfSession({ database }: KeyServerState, token: string): number | undefined {
  const sql = 'SELECT device FROM sessions WHERE token_hash = ?';
  return first<{ device: number | null }>(database, sql, sessionHashOf(token) ?? null)?.device ?? undefined;
}

/** Notes which device a session is used with, and renews the session. */
export function noteDevice({ database, now }: KeyServerState, { token }: BrowserSession, device: number): void {
  const sql = 'UPDATE sessions SET device = ?, expires = ? WHERE token_hash = ?';
  run(database, sql, device, now() + SESSION_LIFETIME, sessionHashOf(token) ?? null);
}

/** Private windows make a device each time: those that were not used for longest go. Their sessions go with them. */
export function removeSurplusBrowsers({ database }: KeyServerState, { id }: Subscriber): void {
  run(
    database,
    `DELETE FROM devices WHERE id IN (
       SELECT id FROM devices WHERE subscriber = ? AND kind = 'browser'
       ORDER BY max(created, coalesce(last_seen, 0)) DESC, id DESC LIMIT -1 OFFSET ?)`,
    id,
    MAXIMUM_BROWSERS,
  );
}
