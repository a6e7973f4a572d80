/** Subscribers: who they are, what they were granted, and how a grant ends. */
import { domainToASCII } from 'node:url';
import { SET_PATTERN } from '../../core/keys/set-pattern.ts';
import { printable } from '../../node-support/printable.ts';
import { KeyServerError, mistyped, unfit } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { noteLostAccess } from './lost-access.ts';

/** Characters of the longest mail address. */
export const MAXIMUM_NAME_LENGTH = 254;
/**
 * Characters that no name has. Names and mail addresses have letters, marks, digits and RFC 5322's `atext` without the backquote; names of people and groups
 * spaces, commas, parentheses and typographic apostrophes too. Nothing is left that breaks a line or a header, or runs in double quotes of a shell.
 */
const FOREIGN = /[^\p{L}\p{M}\p{N} .,()@!#$%&'’*+/=?^_{|}~-]|\$\(/u;
/** Beginnings that spreadsheets take for a formula, and command lines for an option. */
const MISTAKEN = /^[-+=@]/;
const LONGEST_QUOTED = 80;

export interface Subscriber {
  readonly id: number;
  readonly name: string;
  /** Seconds since 1970; `null` while the subscription stands. */
  readonly revoked: number | null;
}

export type Named = Pick<Subscriber, 'id' | 'name'>;

/** A right to read every set whose name matches. */
export interface Grant {
  readonly pattern: string;
  readonly from: number;
  readonly until: number | null;
}

/** A subscriber's name as it is kept: Unicode NFC, single spaces. @throws KeyServerError `name-refused` */
export function parseSubscriberName(text: string): string {
  const name = spaced(text);
  const problem = problemOf(name);
  if (problem === undefined) return name;
  throw new KeyServerError('name-refused', `${quoted(text)} cannot be the name of a subscriber: ${problem}`, {
    typed: true,
    fields: { problem },
  });
}

/** Tells whether a text is a name as {@link parseSubscriberName} returns it. */
export function isSubscriberName(name: string): boolean {
  return name === spaced(name) && problemOf(name) === undefined;
}

function problemOf(name: string): string | undefined {
  if (name === '') return 'it is empty';
  // Compatibility forms can be longer, and the index of a database has a longest entry.
  const length = Math.max(name.length, nameKey(name).length);
  if (length > MAXIMUM_NAME_LENGTH) return `it has ${length} characters, and can have ${MAXIMUM_NAME_LENGTH}`;
  const [foreign] = FOREIGN.exec(name) ?? [];
  if (foreign !== undefined) return `it has the ${foreign === '$(' ? 'characters' : 'character'} ${printable(foreign)}`;
  const [first] = MISTAKEN.exec(name) ?? [];
  return first && `it begins with ${first}`;
}

/** A name as it was typed, in the form in which it is looked up, counted by limits, and kept until it is proven: `''` for one that is too long to be any. */
export function typedName(text: string): string {
  const name = spaced(text);
  return name.length > MAXIMUM_NAME_LENGTH ? '' : name;
}

function spaced(text: string): string {
  return text.normalize('NFC').trim().replace(/\s+/g, ' ');
}

/** Form that all spellings of one name have in common: without case, compatibility forms, and with the domain of a mail address in ASCII. */
export function nameKey(name: string): string {
  return asciiDomain(spaced(name.normalize('NFKC')).toLowerCase());
}

/** Writes the domain behind the last `@` in ASCII (IDNA), where it is one. */
export function asciiDomain(name: string): string {
  const at = name.lastIndexOf('@') + 1;
  return at > 0 && /[^\0-\x7f]/.test(name.slice(at))
    ? name.slice(0, at) + (domainToASCII(name.slice(at)) || name.slice(at))
    : name;
}

/** A pattern of set names: `*` stands for any characters. @throws KeyServerError `argument-invalid` */
export function parseSetPattern(text: string): string {
  const pattern = text.trim();
  if (!SET_PATTERN.test(pattern)) throw mistyped(`${quoted(text)} cannot be a pattern of set names`);
  return pattern;
}

/** Finds a subscriber by name, whatever the case. */
export async function findSubscriber(database: Database, name: string): Promise<Subscriber | undefined> {
  return database.first<Subscriber>('SELECT id, name, revoked FROM subscribers WHERE name_key = ?', nameKey(name));
}

/** Finds like {@link findSubscriber}. @throws KeyServerError `no-such-subscriber` */
export async function knownSubscriber(database: Database, name: string): Promise<Subscriber> {
  const found = await findSubscriber(database, name);
  if (found) return found;
  throw new KeyServerError('no-such-subscriber', 'there is no subscriber of this name');
}

/** SQL: rows of a subscriber, and of the group that they are a member of. The id stands for both `?`. */
export const OWN_OR_OF_GROUP = 'subscriber IN (?, (SELECT member_of FROM subscribers WHERE subscribers.id = ?))';

/** The name of a subscriber who is there. */
export async function nameOfSubscriber(database: Database, id: number): Promise<string> {
  return (await database.first<{ name: string }>('SELECT name FROM subscribers WHERE id = ?', id))?.name ?? '';
}

/** The grants of a subscriber, in the order of their patterns. */
export async function grantsOf(database: Database, subscriber: number): Promise<Grant[]> {
  const sql = `SELECT pattern, granted_from AS "from", granted_until AS until FROM grants
    WHERE ${OWN_OR_OF_GROUP} ORDER BY pattern`;
  return database.all<Grant>(sql, subscriber, subscriber);
}

/** Counts what ends with a revocation. */
export interface Revoked {
  readonly name: string;
  /** Members of a group who are revoked with it; devices, sessions and invitations are theirs too. */
  readonly members: number;
  readonly devices: number;
  readonly sessions: number;
  /** Open ones. */
  readonly invitations: number;
  /** Subscriptions that another system keeps, and goes on with: `stripe sub_…`. */
  readonly elsewhere: readonly string[];
}

/** SQL: the ids of a subscriber and of a group's members who were not revoked before. The id stands for both `?`. */
const WITH_MEMBERS = 'SELECT id FROM subscribers WHERE id = ? OR (member_of = ? AND revoked IS NULL)';

/**
 * Withdraws the access of a subscriber, and of all members of a group: devices are refused from now on, sessions end, open invitations are
 * void. Keys that a device already holds stay good until their validity ends.
 *
 * @returns how many members, devices, sessions and invitations it had; with `dryRun`, nothing is changed
 * @throws KeyServerError `argument-invalid`
 */
export async function revokeSubscriber(state: KeyServerState, name: string, { dryRun = false } = {}): Promise<Revoked> {
  const { database, now } = state;
  return database.transaction(async () => {
    const subscriber = await findSubscriber(database, name);
    if (!subscriber) throw unfit(`there is no subscriber ${quoted(name)}`);
    const { id } = subscriber;
    const count = `SELECT (SELECT count(*) FROM subscribers WHERE member_of = ? AND revoked IS NULL) AS members,
      (SELECT count(*) FROM devices WHERE subscriber IN (${WITH_MEMBERS}) AND revoked IS NULL) AS devices,
      (SELECT count(*) FROM sessions WHERE subscriber IN (${WITH_MEMBERS})) AS sessions,
      (SELECT count(*) FROM invitations WHERE subscriber IN (${WITH_MEMBERS}) AND used_by IS NULL AND expires >= ?) AS invitations`;
    const kept = `SELECT DISTINCT source FROM subscriptions WHERE subscriber IN (${WITH_MEMBERS}) AND ends >= ?
      AND source IN (SELECT source FROM tellings) ORDER BY source`;
    const elsewhere = (await database.all<{ source: string }>(kept, id, id, now())).map(({ source }) => source);
    const counted = await database.first<Omit<Revoked, 'elsewhere' | 'name'>>(
      count,
      ...Array.from({ length: 7 }, () => id),
      now(),
    );
    const revoked = {
      members: 0,
      devices: 0,
      sessions: 0,
      invitations: 0,
      ...counted,
      name: subscriber.name,
      elsewhere,
    };
    if (dryRun) return revoked;
    const devices = `UPDATE devices SET revoked = ? WHERE subscriber IN (${WITH_MEMBERS}) AND revoked IS NULL`;
    await database.run(devices, now(), id, id);
    for (const table of ['gifts', 'invitations', 'sessions'])
      await database.run(`DELETE FROM ${table} WHERE subscriber IN (${WITH_MEMBERS})`, id, id);
    await noteLostAccess(database, id, now());
    // Revoking comes last: what went before finds the members by it.
    const revoke = `UPDATE subscribers SET revoked = coalesce(revoked, ?) WHERE id IN (${WITH_MEMBERS})`;
    await database.run(revoke, now(), id, id);
    const { name: _, elsewhere: __, ...ended } = revoked;
    if (subscriber.revoked === null) await audit(state, 'revoke', subscriber.name, ended);
    return revoked;
  });
}

/** Revokes several, all or none. @throws KeyServerError `argument-invalid` */
export function revokeSubscribers(
  state: KeyServerState,
  names: readonly string[],
  options: { readonly dryRun?: boolean } = {},
): Promise<Revoked[]> {
  return state.database.transaction(async () => {
    const revoked: Revoked[] = [];
    for (const name of names) revoked.push(await revokeSubscriber(state, name, options));
    return revoked;
  });
}

/**
 * Gives a subscriber another name. Rights, devices and password stay.
 *
 * @returns both names, as they are kept
 * @throws KeyServerError `argument-invalid`
 */
export async function renameSubscriber(
  state: KeyServerState,
  name: string,
  to: string,
): Promise<{ readonly from: string; readonly to: string }> {
  const { database } = state;
  const wanted = parseSubscriberName(to);
  return database.transaction(async () => {
    const subscriber = await findSubscriber(database, name);
    if (!subscriber) throw mistyped(`there is no subscriber ${quoted(name)}`);
    const other = await renameIfFree(state, subscriber, wanted);
    if (other) throw mistyped(`there is a subscriber ${quoted(other.name)} already`);
    return { from: subscriber.name, to: wanted };
  });
}

/**
 * Gives a subscriber another name, if it is free, within the caller's transaction.
 *
 * @param name - as {@link parseSubscriberName} returned it
 * @returns the other subscriber who has it
 */
export async function renameIfFree(
  state: KeyServerState,
  { id, name: before }: Named,
  name: string,
): Promise<Subscriber | undefined> {
  const { database } = state;
  const other = await findSubscriber(database, name);
  if (other && other.id !== id) return other;
  await database.run('UPDATE subscribers SET name = ?, name_key = ? WHERE id = ?', name, nameKey(name), id);
  if (name === before) return undefined;
  await database.run('UPDATE mailings SET refusal = NULL WHERE subscriber = ?', id);
  await audit(state, 'rename', name, { from: before });
  return undefined;
}

/** A text as messages show it. */
export function quoted(text: string): string {
  return `"${printable(text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text)}"`;
}
