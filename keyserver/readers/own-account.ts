/** What subscribers do with their own accounts. */
import type { Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findSubscriber, grantsOf, nameKey, parseSubscriberName } from '../subscriptions/subscribers.ts';
import { plansOf, subscribe } from '../subscriptions/subscriptions.ts';
import { findAccount, sessionHashOf } from './accounts.ts';
import { devicesOf } from './devices.ts';
import { createSubscriber } from './invitations.ts';
import { nameHash } from './mail-codes.ts';

/** Seconds after signing in by mail or invitation, in which a password can be replaced. */
const PROVEN_FOR = 900;

/** Whether the session was begun by mail or by an invitation, and just now. */
export async function isProven({ database, now }: KeyServerState, token: string): Promise<boolean> {
  const hash = sessionHashOf(token);
  const sql = 'SELECT proven FROM sessions WHERE token_hash = ? AND proven >= ?';
  return hash !== undefined && (await database.first(sql, hash, now() - PROVEN_FOR)) !== undefined;
}

/** Ends all sessions, but the one of `except`. */
export async function endSessions({ database }: KeyServerState, subscriber: number, except?: string): Promise<void> {
  const kept = except === undefined ? undefined : sessionHashOf(except);
  if (!kept) await database.run('DELETE FROM sessions WHERE subscriber = ?', subscriber);
  else await database.run('DELETE FROM sessions WHERE subscriber = ? AND token_hash <> ?', subscriber, kept);
}

/** The account goes on without a password. */
export async function removePassword({ database }: KeyServerState, subscriber: number): Promise<void> {
  await database.run('DELETE FROM accounts WHERE subscriber = ?', subscriber);
}

/** All that is stored of a subscriber but keys and digests, for them to keep. Times are seconds since 1970. */
export async function exportSubscriber({ database }: KeyServerState, subscriber: number) {
  const { name, created } =
    (await database.first<{ name: string; created: number }>(
      'SELECT name, created FROM subscribers WHERE id = ?',
      subscriber,
    )) ?? {};
  const invitations =
    'SELECT expires, CASE WHEN used_by IS NULL THEN 0 ELSE 1 END AS used FROM invitations WHERE subscriber = ? ORDER BY expires';
  return {
    name,
    created,
    hasPassword: (await findAccount(database, subscriber)) !== undefined,
    subscriptions: await plansOf(database, subscriber),
    sets: await grantsOf(database, subscriber),
    devices: (await devicesOf(database, subscriber)).map(({ id: _, ...device }) => device),
    sessions: await database.all('SELECT expires FROM sessions WHERE subscriber = ? ORDER BY expires', subscriber),
    invitations: await database.all(invitations, subscriber),
  };
}

/** Everything goes: rights, devices, sessions, password. */
export async function deleteSubscriber({ database }: KeyServerState, subscriber: number): Promise<void> {
  await database.run('DELETE FROM subscribers WHERE id = ?', subscriber);
}

/**
 * Gives a subscriber another name, if it is free. Invitations that went to the old address are void.
 *
 * @returns whether the name was free
 */
export async function renameSubscriber(database: Database, subscriber: number, typed: string): Promise<boolean> {
  const name = parseSubscriberName(typed);
  const other = await findSubscriber(database, name);
  if (other && other.id !== subscriber) return false;
  await database.run('UPDATE subscribers SET name = ?, name_key = ? WHERE id = ?', name, nameKey(name), subscriber);
  await database.run('DELETE FROM invitations WHERE subscriber = ? AND used_by IS NULL', subscriber);
  return true;
}

/** Within the caller's transaction: the subscriber of an address that was proven. The trial is given once. */
export async function signUp(
  { database, now }: KeyServerState,
  typed: string,
  { plan, days }: { readonly plan: string; readonly days: number },
): Promise<number> {
  const name = parseSubscriberName(typed);
  const known = await findSubscriber(database, name);
  if (known) return known.id;
  const id = await createSubscriber(database, name, now());
  const first = 'INSERT INTO sign_ups (name_hash) VALUES (?) ON CONFLICT (name_hash) DO NOTHING';
  if ((await database.run(first, nameHash(name))) > 0)
    await subscribe(database, id, plan, now(), now() + days * 86_400);
  return id;
}
