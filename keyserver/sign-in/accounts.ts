/** Accounts on the reading site, and their sessions. A session's token is stored as its digest only. */
import { KeyServerError } from '../errors.ts';
import { findInvitation, type UsableInvitation, useInvitation } from '../readers/invitations.ts';
import { SESSION_LIFETIME, sessionHashOf } from '../readers/session-tokens.ts';
import { as, audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import { newSecret } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findSubscriber, nameOfSubscriber, type Subscriber } from '../subscriptions/subscribers.ts';
import { hashPassword, verifyPassword } from './passwords.ts';

const BROWSER_USER = 'browser';
/** Stands in place of the time at which a session was proven. */
const OF_PURCHASE = 0;

/** An account as it stands in the database. */
export interface Account {
  readonly subscriber: number;
  readonly password: string;
}

/** A password, and the address that sends it; addresses take turns. */
export interface TypedPassword {
  readonly password: string;
  readonly address: string;
}

export interface SignInAttempt extends TypedPassword {
  readonly name: string;
}

/** A new session: always a new token. */
export interface NewSession {
  readonly token: string;
  readonly subscriber: Subscriber;
}

/**
 * Uses an invitation to sign a browser in, without a password. Other sessions, and a password that there was, stay.
 *
 * @param code - as `normaliseCode` returned it
 * @param present - who is signed in already in this browser: a member of a group takes no second seat
 * @throws KeyServerError `code-refused`, `seats-taken`
 */
export async function joinWithCode(state: KeyServerState, code: string, present?: number): Promise<NewSession> {
  return state.database.transaction(async () => {
    const invitation = await findInvitation(state, code, '');
    const subscriber = await useInvitation(state, invitation, BROWSER_USER, present);
    const isOfGroup = invitation.seats !== null && subscriber === present; // a group's code proves no member
    return createSession(state, subscriber, invitation.own === null && !isOfGroup ? 'person' : 'session');
  });
}

/**
 * Uses an invitation to set a password, and signs in. An account that there was gets the new password, and its other sessions end.
 *
 * @param code - as `normaliseCode` returned it
 * @param password - one that `isAcceptablePassword`
 * @throws KeyServerError `code-refused`, `seats-taken`, `busy`
 */
export async function joinWithPassword(state: KeyServerState, code: string, typed: TypedPassword): Promise<NewSession> {
  await provingInvitation(state, code); // the costly part comes after
  const stored = await hashPassword(state.hashing, typed.password, typed.address);
  const { database } = state;
  return database.transaction(async () => {
    const subscriber = await useInvitation(state, await provingInvitation(state, code), BROWSER_USER, undefined);
    await database.run('DELETE FROM sessions WHERE subscriber = ?', subscriber);
    await storePassword(state, subscriber, stored);
    return createSession(state, subscriber);
  });
}

/**
 * Sets the password, or replaces it. The other sessions are the caller's to end.
 *
 * @param token - of the session: hashing waits for its turn, and meanwhile it may have ended, with the subscriber even
 * @returns whether the session still stood when the password was hashed
 * @throws KeyServerError `busy`
 */
export async function replacePassword(state: KeyServerState, token: string, typed: TypedPassword): Promise<boolean> {
  const stored = await hashPassword(state.hashing, typed.password, typed.address);
  return state.database.transaction(async () => {
    const subscriber = await findSession(state, token);
    if (subscriber) await storePassword(state, subscriber.id, stored);
    return subscriber !== undefined;
  });
}

/** Finds an invitation from publisher or mail: a session that could make its own would outlive its end. @throws KeyServerError `code-refused` */
async function provingInvitation(state: KeyServerState, code: string): Promise<UsableInvitation> {
  const invitation = await findInvitation(state, code, '');
  if (invitation.own === null) return invitation;
  throw new KeyServerError('code-refused', 'this code connects a Reader or a browser, and sets no password');
}

async function storePassword(state: KeyServerState, subscriber: number, stored: string): Promise<void> {
  const { database, now } = state;
  const sql = `INSERT INTO accounts (subscriber, password, changed) VALUES (?, ?, ?)
    ON CONFLICT (subscriber) DO UPDATE SET password = excluded.password, changed = excluded.changed`;
  await database.run(sql, subscriber, stored, now());
  const name = await nameOfSubscriber(database, subscriber);
  await audit(as(state, `reader ${name}`), 'password', name);
}

/**
 * Signs in by name and password. An unknown name, one without an account and a wrong password cost the same and say the same.
 *
 * @returns `undefined` if the two do not fit
 * @throws KeyServerError `busy`
 */
export async function signIn(state: KeyServerState, attempt: SignInAttempt): Promise<NewSession | undefined> {
  const { database } = state;
  const { name, password, address } = attempt;
  const account = await findAccount(database, (await findSubscriber(database, name))?.id);
  if (!(await verifyPassword(state.hashing, account?.password, password, address)) || !account) {
    state.counts.add('sign-in-refused');
    return undefined;
  }
  return database.transaction(async () => {
    // A new password, set meanwhile, has ended all sessions of the old one.
    const current = await findAccount(database, account.subscriber);
    return current?.password === account.password ? createSession(state, account.subscriber) : undefined;
  });
}

/** Finds the subscriber of a session's token; `undefined` if there is no such session any more. */
export async function findSession({ database, now }: KeyServerState, token: string): Promise<Subscriber | undefined> {
  const sql = `SELECT id, name, revoked FROM sessions JOIN subscribers ON subscribers.id = subscriber
    WHERE token_hash = ? AND expires >= ?`;
  return database.first<Subscriber>(sql, sessionHashOf(token), now());
}

/** Ends a session, if there is one of this token. */
export async function endSession({ database }: KeyServerState, token: string): Promise<void> {
  await database.run('DELETE FROM sessions WHERE token_hash = ?', sessionHashOf(token));
}

/** The account of a subscriber, by the subscriber's id. */
export async function findAccount(database: Database, subscriber: number = -1): Promise<Account | undefined> {
  return database.first('SELECT subscriber, password FROM accounts WHERE subscriber = ?', subscriber);
}

/**
 * Begins a session. That of a person may add credentials for a while, and ends those of purchases: whoever paid may have typed the address of another.
 *
 * @param by - what has proven who it is: the person; another session, by a code; or a purchase, which has made the subscriber
 */
export async function createSession(
  state: KeyServerState,
  subscriber: number,
  by: 'person' | 'purchase' | 'session' = 'person',
): Promise<NewSession> {
  const { database, now, counts } = state;
  const token = newSecret();
  await database.run('DELETE FROM sessions WHERE expires < ?', now());
  if (by === 'person') {
    await database.run('DELETE FROM sessions WHERE subscriber = ? AND proven = ?', subscriber, OF_PURCHASE);
    await database.run('DELETE FROM checkouts WHERE buyer = ?', subscriber); // buyers do not come back from those
  }
  const sql = 'INSERT INTO sessions (token_hash, subscriber, expires, proven) VALUES (?, ?, ?, ?)';
  const proven = { person: now(), purchase: OF_PURCHASE, session: null }[by];
  await database.run(sql, sessionHashOf(token), subscriber, now() + SESSION_LIFETIME, proven);
  const found = await database.first<Subscriber>('SELECT id, name, revoked FROM subscribers WHERE id = ?', subscriber);
  if (!found) throw new Error('a session without a subscriber');
  counts.add('sign-in');
  return { token, subscriber: found };
}
