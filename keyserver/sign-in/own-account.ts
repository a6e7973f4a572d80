/** Actions of subscribers on their own accounts. */
import { devicesOf, removeDevice } from '../readers/devices.ts';
import { createSubscriber } from '../readers/invitations.ts';
import { sessionHashOf } from '../readers/session-tokens.ts';
import { asReader, audit } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';
import { noteLostAccess } from '../subscriptions/lost-access.ts';
import { groupOf, keepSeat, seatsOf } from '../subscriptions/seats.ts';
import {
  findSubscriber,
  grantsOf,
  type Named,
  parseSubscriberName,
  renameIfFree,
} from '../subscriptions/subscribers.ts';
import { plansOf, subscribe } from '../subscriptions/subscriptions.ts';
import { findAccount } from './accounts.ts';
import { nameHash } from './mail-codes.ts';
import { passkeysOf, removePasskey } from './passkeys.ts';

/** Seconds after signing in, in which credentials, devices and addresses can be added, and the account deleted. */
const PROVEN_FOR = 900;

/** Tells whether the session was begun just now, and not by a code that another session has made. */
export async function isProven({ database, now }: KeyServerState, token: string): Promise<boolean> {
  const sql = 'SELECT proven FROM sessions WHERE token_hash = ? AND proven >= ?';
  return (await database.first(sql, sessionHashOf(token), now() - PROVEN_FOR)) !== undefined;
}

/** Ends all sessions, but the one of `except`, and takes back the codes that were made in one. */
export async function endSessions(state: KeyServerState, { id, name }: Named, except = ''): Promise<void> {
  const { database } = state;
  const kept = sessionHashOf(except);
  await database.transaction(async () => {
    const ended = await database.run('DELETE FROM sessions WHERE subscriber = ? AND token_hash <> ?', id, kept);
    await database.run('DELETE FROM invitations WHERE subscriber = ? AND own = 1 AND used_by IS NULL', id);
    if (ended > 0) await audit(asReader(state, name), 'sessions-ended', name, { ended });
  });
}

/** The account goes on without a password. */
export async function removePassword(state: KeyServerState, { id, name }: Named): Promise<void> {
  const { database } = state;
  await database.transaction(async () => {
    if ((await database.run('DELETE FROM accounts WHERE subscriber = ?', id)) === 0) return;
    await audit(asReader(state, name), 'password-removed', name);
  });
}

/** Takes away all that signs a subscriber in, or holds keys: what somebody else may have added. */
export async function removeCredentials(state: KeyServerState, subscriber: Named): Promise<void> {
  const { database } = state;
  await database.transaction(async () => {
    await removePassword(state, subscriber);
    for (const { id } of await passkeysOf(database, 'reader_passkeys', subscriber.id))
      await removePasskey(database, 'reader_passkeys', subscriber.id, id);
    for (const { id } of await devicesOf(database, subscriber.id))
      await removeDevice(asReader(state, subscriber.name), subscriber.id, id);
  });
}

/** Exports all that is stored of a subscriber but keys and digests, for them to keep. Times are seconds since 1970. */
export async function exportSubscriber(state: KeyServerState, subscriber: number) {
  const { database } = state;
  const identities = 'SELECT issuer, subject, created FROM identities WHERE subscriber = ? ORDER BY created';
  const invitations =
    'SELECT expires, CASE WHEN used_by IS NULL THEN 0 ELSE 1 END AS used FROM invitations WHERE subscriber = ? ORDER BY expires';
  const gifts = 'SELECT target, made, expires, openings FROM gifts WHERE subscriber = ? ORDER BY made';
  const checkouts = 'SELECT plan, target, expires FROM checkouts WHERE subscriber = ? OR buyer = ? ORDER BY expires';
  return {
    ...(await database.first<object>('SELECT name, created FROM subscribers WHERE id = ?', subscriber)),
    hasPassword: (await findAccount(database, subscriber)) !== undefined,
    subscriptions: await plansOf(database, subscriber),
    sets: await grantsOf(database, subscriber),
    devices: (await devicesOf(database, subscriber)).map(({ id: _, ...device }) => device),
    group: (await groupOf(database, subscriber)) ?? null,
    seats: (await seatsOf(state, subscriber)) ?? null,
    passkeys: (await passkeysOf(database, 'reader_passkeys', subscriber)).map(({ id: _, ...passkey }) => passkey),
    identities: await database.all(identities, subscriber),
    paidElsewhere: await database.all('SELECT source FROM sources WHERE subscriber = ? ORDER BY source', subscriber),
    checkouts: await database.all(checkouts, subscriber, subscriber),
    sessions: await database.all('SELECT expires FROM sessions WHERE subscriber = ? ORDER BY expires', subscriber),
    invitations: await database.all(invitations, subscriber),
    gifts: await database.all(gifts, subscriber),
    mail: await database.all('SELECT mailed, refusal, unsubscribed FROM mailings WHERE subscriber = ?', subscriber),
  };
}

/** Deletes everything: rights, devices, sessions, password. The seat of a member stays taken for a while. */
export async function deleteSubscriber(state: KeyServerState, { id, name }: Named): Promise<void> {
  const { database, now } = state;
  await database.transaction(async () => {
    await keepSeat(state, id);
    await noteLostAccess(database, id, now());
    await database.run('DELETE FROM subscribers WHERE id = ?', id);
    await audit(asReader(state, name), 'deleted', name);
  });
}

/**
 * Gives a subscriber another mail address, if it is free, within the caller's transaction. Invitations that went to the old address are void.
 *
 * @returns whether the address was free
 */
export async function moveSubscriber(state: KeyServerState, subscriber: Named, address: string): Promise<boolean> {
  const other = await renameIfFree(asReader(state, subscriber.name), subscriber, parseSubscriberName(address));
  if (other) return false;
  await state.database.run('DELETE FROM invitations WHERE subscriber = ? AND used_by IS NULL', subscriber.id);
  return true;
}

/** Plan that people can begin with, and for how many days. */
export interface Trial {
  readonly plan: string;
  readonly days: number;
}

/** Finds or makes, within the caller's transaction, the subscriber of an address that was proven. The trial is given once. */
export async function signUp(state: KeyServerState, typed: string, { plan, days }: Trial): Promise<number> {
  const { database, now } = state;
  const name = parseSubscriberName(typed);
  const known = await findSubscriber(database, name);
  if (known) return known.id;
  await audit(asReader(state, name), 'sign-up', name, { plan });
  const id = await createSubscriber(database, name, now());
  const first = 'INSERT INTO sign_ups (name_hash) VALUES (?) ON CONFLICT (name_hash) DO NOTHING';
  if ((await database.run(first, nameHash(name))) > 0)
    await subscribe(database, id, plan, now(), now() + days * 86_400);
  return id;
}
