/** Invitations: one-time codes that connect a Reader, or sign a browser in at the reading site. Only their digests are stored. */
import { randomBytes } from '#primitives';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { JOIN_PAGE } from '../../core/site/path.ts';
import { KeyServerError, mistyped, unfit } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import { digest } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import { type Seats, seatsOf, setSeats, takeSeat } from '../subscriptions/seats.ts';
import {
  findSubscriber,
  type Grant,
  grantsOf,
  knownSubscriber,
  nameKey,
  parseSetPattern,
  parseSubscriberName,
  type Subscriber,
} from '../subscriptions/subscribers.ts';
import { type HeldPlan, plansOf, subscribe } from '../subscriptions/subscriptions.ts';
import { patternsWithoutSet } from './entitlement.ts';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODE_LENGTH = 16;
const DAY = 86_400;
const DEFAULT_VALID_DAYS = 7;
/** Days for which an invitation can be used at most. */
export const MAXIMUM_VALID_DAYS = 90;
const ALL_SETS = '*';

export interface InvitationRequest {
  readonly name: string;
  /** Patterns of set names. Left out: all sets for a subscriber who is new or was revoked, what was granted before for others. */
  readonly sets?: readonly string[] | undefined;
  readonly plan?: string | undefined;
  /** Time at which the subscription to `plan` begins, in seconds since 1970. Left out: now. */
  readonly from?: number | undefined;
  /** Seconds since 1970, inclusive. Left out: without end for new grants and subscriptions, unchanged for other grants. */
  readonly until?: number | undefined;
  readonly seats?: number | undefined;
  /** Days for which the code can be used; 7 if left out. */
  readonly validDays?: number | undefined;
}

export interface Invitation {
  readonly subscriber: string;
  readonly created: boolean;
  readonly grants: readonly Grant[];
  readonly subscriptions: readonly HeldPlan[];
  /** Grants that stood before, beside the sets that were named now: naming sets takes nothing away. */
  readonly kept: readonly Grant[];
  /** Patterns named now that match no set yet: misspelt, or of sets to come. */
  readonly unmatched: readonly string[];
  /** Seats of a group: the code is good for as many people as there are free ones. */
  readonly seats: Seats | undefined;
  /** Time at which the code expires: seconds since 1970. */
  readonly expires: number;
  readonly code: string;
}

export type NewCode = Pick<Invitation, 'code' | 'expires'>;

/** An invitation whose code was found good. */
export interface UsableInvitation {
  readonly subscriber: number;
  readonly name: string;
  /** `null`: good once. Else of a group. */
  readonly seats: number | null;
  readonly codeHash: Uint8Array;
  /** 1: made in a session of the subscriber, and so no proof of who uses it. */
  readonly own: 1 | null;
}

/** Creates or extends a subscriber, and makes a one-time code. @throws KeyServerError `argument-invalid` */
export async function inviteSubscriber(state: KeyServerState, request: InvitationRequest): Promise<Invitation> {
  const { database, now } = state;
  const name = parseSubscriberName(request.name);
  const patterns = request.sets?.map(parseSetPattern);
  if (patterns && request.plan !== undefined) throw unfit('name a plan or sets, not both');
  const expires = now() + checkedDays(request.validDays) * DAY;
  if (request.until !== undefined && !(Number.isSafeInteger(request.until) && request.until > now()))
    throw mistyped('the end of the subscription is not in the future');
  return database.transaction(async () => {
    const { id, known, anew } = await admitSubscriber(database, name, now());
    if (request.plan === undefined)
      await grant(database, id, patterns ?? (anew ? [ALL_SETS] : undefined), request.until, now());
    else await subscribe(database, id, request.plan, request.from ?? now(), request.until ?? null);
    if (request.seats !== undefined) await setSeats(database, { id, name: known?.name ?? name }, request.seats);
    await database.run('DELETE FROM invitations WHERE expires < ?', now());
    const { plan, from, until } = request;
    const granted = { plan, sets: patterns ?? (anew && plan === undefined ? [ALL_SETS] : undefined), from, until };
    await audit(state, 'invite', known?.name ?? name, { ...granted, expires });
    const grants = await grantsOf(database, id);
    return {
      subscriber: known?.name ?? name,
      created: !known,
      grants,
      subscriptions: await plansOf(database, id),
      kept: patterns ? grants.filter(({ pattern }) => !patterns.includes(pattern)) : [],
      unmatched: await patternsWithoutSet(database, patterns ?? []),
      seats: await seatsOf(state, id),
      expires,
      code: await createCodeOrReplace(database, id, expires),
    };
  });
}

/**
 * Makes a further one-time code for a subscriber, and grants nothing. Where another system says who may read what, it makes the subscriber too.
 *
 * @throws KeyServerError `no-such-subscriber`, `revoked`, `argument-invalid`
 */
export async function inviteAgain(state: KeyServerState, name: string, validDays?: number): Promise<NewCode> {
  const { database, now, renewRights } = state;
  const expires = now() + checkedDays(validDays) * DAY;
  return database.transaction(async () => {
    if (renewRights && !(await findSubscriber(database, name)))
      await createSubscriber(database, parseSubscriberName(name), now());
    const known = await knownSubscriber(database, name);
    if (known.revoked !== null)
      throw new KeyServerError('revoked', 'this subscriber was revoked: begin a subscription first');
    await audit(state, 'invite-again', known.name, { expires });
    return { expires, code: await createCodeOrReplace(database, known.id, expires) };
  });
}

/**
 * The link of an invitation, for every kind of reader. The code stands behind `#`, which browsers and devices do not send, and behind it the
 * publisher: docs/spec/keys.md section 7. A program that looks into mails and opens it uses nothing up: the page has a button.
 *
 * @param readingSite - origin
 * @param publisher - root id; `undefined` before the first key bundle
 * @param query - `to`: path and query of the document that is wanted
 */
export function invitationLink(
  { code }: Pick<Invitation, 'code'>,
  readingSite: string,
  publisher?: KeyId,
  query: { readonly mail?: '1'; readonly reader?: '1'; readonly to?: string } = {},
): string {
  const asked = new URLSearchParams(query).toString();
  return `${readingSite}${JOIN_PAGE}${asked && `?${asked}`}#${code}${publisher === undefined ? '' : `.${publisher}`}`;
}

/**
 * Looks a code up.
 *
 * @param code - as `normaliseCode` returned it
 * @param user - who uses it: a code that the same user has used before is still good
 * @throws KeyServerError `code-refused`: unknown, expired, or used; not said which
 */
export async function findInvitation(
  { database, now }: KeyServerState,
  code: string,
  user: string,
): Promise<UsableInvitation> {
  const codeHash = hashOfCode(code);
  const sql = `SELECT subscriber, name, seats, own FROM invitations JOIN subscribers ON subscribers.id = subscriber
    WHERE code_hash = ? AND expires >= ? AND (used_by IS NULL OR used_by = ?) AND revoked IS NULL`;
  const row = await database.first<Omit<UsableInvitation, 'codeHash'>>(sql, codeHash, now(), user);
  if (row) return { ...row, codeHash };
  throw new KeyServerError('code-refused', 'the invitation code is not good: mistyped, used, or expired');
}

/**
 * Uses an invitation, within the caller's transaction, and notes who used it. That of a group stays good for others.
 *
 * @param present - whom the browser or device belongs to already
 * @returns the subscriber; of a group, the member
 * @throws KeyServerError `seats-taken`
 */
export async function useInvitation(
  state: KeyServerState,
  { subscriber, name, seats, codeHash }: UsableInvitation,
  user: string,
  present: number | undefined,
): Promise<number> {
  if (seats !== null) return takeSeat(state, { id: subscriber, name }, present);
  await state.database.run('UPDATE invitations SET used_by = ? WHERE code_hash = ?', user, codeHash);
  return subscriber;
}

/** Takes the open invitations of a subscriber back. @returns how many @throws KeyServerError `no-such-subscriber` */
export async function withdrawInvitations(state: KeyServerState, name: string): Promise<number> {
  const { database, now } = state;
  return database.transaction(async () => {
    const { id, name: kept } = await knownSubscriber(database, name);
    const sql = 'DELETE FROM invitations WHERE subscriber = ? AND used_by IS NULL AND expires >= ?';
    const invitations = await database.run(sql, id, now());
    if (invitations > 0) await audit(state, 'invitations-withdrawn', kept, { invitations });
    return invitations;
  });
}

/** A group has one open invitation: a new one takes its place. */
export async function createCodeOrReplace(
  database: Database,
  subscriber: number,
  expires: number,
  code: string = newCode(),
): Promise<string> {
  const ofGroup =
    'DELETE FROM invitations WHERE used_by IS NULL AND subscriber IN (SELECT id FROM subscribers WHERE id = ? AND seats IS NOT NULL)';
  await database.run(ofGroup, subscriber);
  return keepCode(database, subscriber, expires, code);
}

/** Codes that sessions of one subscriber may have open; a further one takes the place of the first to end. */
const OWN_CODES = 5;

/** Makes a code of the subscriber's own, which connects a Reader or a browser, and proves nothing. */
export async function createOwnCode(database: Database, subscriber: number, expires: number): Promise<string> {
  const open = 'SELECT code_hash FROM invitations WHERE subscriber = ? AND own = 1 AND used_by IS NULL';
  return database.transaction(async () => {
    const tooMany = `${open} ORDER BY expires DESC LIMIT 1000 OFFSET ${OWN_CODES - 1}`;
    await database.run(`DELETE FROM invitations WHERE code_hash IN (${tooMany})`, subscriber);
    return keepCode(database, subscriber, expires, newCode(), 'own');
  });
}

export function createCode(database: Database, subscriber: number, expires: number): Promise<string> {
  return keepCode(database, subscriber, expires, newCode());
}

export function newCode(): string {
  // 32 divides 256, so each character is uniform.
  const code = Array.from(randomBytes(CODE_LENGTH), (byte) => CROCKFORD[byte % CROCKFORD.length]).join('');
  return code.replace(/(.{4})(?=.)/g, '$1-');
}

/** @param own - as of {@link createOwnCode} */
async function keepCode(
  database: Database,
  subscriber: number,
  expires: number,
  code: string,
  own?: 'own',
): Promise<string> {
  const sql = 'INSERT INTO invitations (code_hash, subscriber, expires, own) VALUES (?, ?, ?, ?)';
  await database.run(sql, hashOfCode(code.replaceAll('-', '')), subscriber, expires, own ? 1 : null);
  return code;
}

/** Hashes a code as it is stored. @param code - as `normaliseCode` returned it */
export function hashOfCode(code: string): Uint8Array {
  return digest('invitation code', code);
}

export async function createSubscriber(database: Database, name: string, now: number): Promise<number> {
  const sql = 'INSERT INTO subscribers (name, name_key, created) VALUES (?, ?, ?) RETURNING id';
  const made = await database.first<{ id: number }>(sql, name, nameKey(name), now);
  if (!made) throw new Error('a subscriber was not stored');
  return made.id;
}

/**
 * Makes the subscriber of this name, where there is none; one who was revoked starts anew.
 *
 * @returns `known`: as they were before; `anew`: whether they are new, or had been revoked
 */
export async function admitSubscriber(
  database: Database,
  name: string,
  now: number,
): Promise<{ id: number; known: Subscriber | undefined; anew: boolean }> {
  const known = await findSubscriber(database, name);
  if (!known) return { id: await createSubscriber(database, name, now), known, anew: true };
  return { id: known.id, known, anew: await readmit(database, known) };
}

/**
 * A revoked subscriber starts anew, as a member of no group: devices stay revoked; grants, subscriptions, sessions and all ways to sign in are
 * deleted.
 *
 * @returns whether they had been revoked
 */
async function readmit(database: Database, { id, revoked }: Subscriber): Promise<boolean> {
  if (revoked === null) return false;
  await database.run('UPDATE subscribers SET revoked = NULL, member_of = NULL WHERE id = ?', id);
  await database.run('DELETE FROM reader_passkeys WHERE owner = ?', id);
  for (const table of ['accounts', 'identities', 'sessions', 'grants', 'subscriptions', 'tellings'])
    await database.run(`DELETE FROM ${table} WHERE subscriber = ?`, id);
  return true;
}

export async function grant(
  database: Database,
  subscriber: number,
  patterns: readonly string[] | undefined,
  until: number | undefined,
  now: number,
): Promise<void> {
  if (!patterns && until !== undefined)
    await database.run('UPDATE grants SET granted_until = ? WHERE subscriber = ?', until, subscriber);
  const sql = `INSERT INTO grants (subscriber, pattern, granted_from, granted_until) VALUES (?, ?, ?, ?)
    ON CONFLICT (subscriber, pattern) DO UPDATE SET granted_until = excluded.granted_until`;
  for (const pattern of patterns ?? []) await database.run(sql, subscriber, pattern, now, until ?? null);
  await database.run('DELETE FROM grants WHERE subscriber = ? AND granted_until <= granted_from', subscriber);
}

function checkedDays(days: number = DEFAULT_VALID_DAYS): number {
  if (Number.isInteger(days) && days >= 1 && days <= MAXIMUM_VALID_DAYS) return days;
  throw mistyped(`an invitation is valid for 1 to ${MAXIMUM_VALID_DAYS} whole days`);
}
