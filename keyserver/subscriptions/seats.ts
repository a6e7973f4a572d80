/**
 * Groups, such as a school or a company: a subscriber with seats, whose invitation makes a member for each person who uses it. Members are
 * subscribers with the rights of their group, which are looked up through it at every decision: what ends for the group ends for them.
 */
import { randomBytes } from '#primitives';
import { KeyServerError, mistyped } from '../errors.ts';
import { asReader, audit } from '../storage/audit.ts';
import { countRows, type Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { MAXIMUM_VALIDITY } from './access.ts';
import { findSubscriber, MAXIMUM_NAME_LENGTH, type Named, nameKey } from './subscribers.ts';

export const MAXIMUM_SEATS = 100_000;
/** Characters of a group's name: a number follows it. */
const LONGEST_GROUP_NAME = MAXIMUM_NAME_LENGTH - ` ${MAXIMUM_SEATS}`.length;

/** Note in place of the user of an invitation: it keeps the seat of a member who has left. */
const LEFT = 'left';

export interface Seats {
  readonly seats: number;
  readonly taken: number;
}

/** The state's part that seats are counted with. */
type Counting = Pick<KeyServerState, 'database' | 'now'>;

/**
 * SQL: how many seats of a group are taken, by members and by those who have left. Its one `?` is the present time.
 *
 * @param group - SQL for its id
 */
export function takenSeats(group: string): string {
  return `(SELECT count(*) FROM subscribers AS member WHERE member_of = ${group} AND member.revoked IS NULL)
    + (SELECT count(*) FROM invitations WHERE subscriber = ${group} AND used_by = '${LEFT}' AND expires >= ?)`;
}

/** The seats of a group; `undefined` for a subscriber who is none. */
export async function seatsOf({ database, now }: Counting, subscriber: number): Promise<Seats | undefined> {
  const sql = `SELECT seats, ${takenSeats('subscribers.id')} AS taken FROM subscribers WHERE id = ? AND seats IS NOT NULL`;
  return database.first<Seats>(sql, now(), subscriber);
}

/** The name of the group that a subscriber is a member of. */
export async function groupOf(database: Database, subscriber: number): Promise<string | undefined> {
  const sql = 'SELECT name FROM subscribers WHERE id = (SELECT member_of FROM subscribers WHERE id = ?)';
  return (await database.first<{ name: string }>(sql, subscriber))?.name;
}

/** @throws KeyServerError `argument-invalid` */
export function checkSeats(name: string, seats: number): void {
  if (!Number.isInteger(seats) || seats < 1 || seats > MAXIMUM_SEATS)
    throw mistyped(`a group has 1 to ${MAXIMUM_SEATS} seats`);
  if (name.length > LONGEST_GROUP_NAME)
    throw mistyped(`the name of a group has ${LONGEST_GROUP_NAME} characters at most`);
}

/**
 * Makes a subscriber a group, or changes how many seats it has. Where fewer are left than are taken, members stay.
 *
 * @throws KeyServerError `argument-invalid`
 */
export async function setSeats(database: Database, { id, name }: Named, seats: number): Promise<void> {
  checkSeats(name, seats);
  const changed = await database.run('UPDATE subscribers SET seats = ? WHERE id = ? AND member_of IS NULL', seats, id);
  if (changed === 0) throw mistyped('a member of a group cannot be a group');
}

/**
 * Takes a seat, within the caller's transaction.
 *
 * @param present - whom the browser or device belongs to already: a member of this group keeps the one seat
 * @returns the member
 * @throws KeyServerError `seats-taken`
 */
export async function takeSeat(state: KeyServerState, group: Named, present: number | undefined): Promise<number> {
  const { database, now } = state;
  if (await isMember(database, group.id, present)) return present as number;
  await demandSeat(state, group.id);
  const sql = 'INSERT INTO subscribers (name, name_key, created, member_of) VALUES (?, ?, ?, ?) RETURNING id';
  const name = await freeName(database, group);
  const made = await database.first<{ id: number }>(sql, name, nameKey(name), now(), group.id);
  if (!made) throw new Error('a member was not stored');
  await audit(asReader(state, name), 'seat', group.name, { member: name });
  return made.id;
}

/** @throws KeyServerError `seats-taken` where it is a group without a free seat, and `present` is none of its members */
export async function demandSeat(state: Counting, group: number, present?: number): Promise<void> {
  const { seats, taken } = (await seatsOf(state, group)) ?? { seats: 1, taken: 0 };
  if (taken < seats || (await isMember(state.database, group, present))) return;
  throw new KeyServerError('seats-taken', 'all seats of the group are taken');
}

/** Keeps, within the caller's transaction, the seat of a member who leaves for as long as a key that was given last may be valid. */
export async function keepSeat({ database, now }: Counting, member: number): Promise<void> {
  const sql = 'SELECT member_of FROM subscribers WHERE id = ? AND member_of IS NOT NULL AND revoked IS NULL';
  const group = (await database.first<{ member_of: number }>(sql, member))?.member_of;
  if (group === undefined) return;
  const kept = 'INSERT INTO invitations (code_hash, subscriber, expires, used_by) VALUES (?, ?, ?, ?)';
  await database.run(kept, randomBytes(32), group, now() + MAXIMUM_VALIDITY, LEFT);
}

async function isMember(database: Database, group: number, subscriber: number | undefined): Promise<boolean> {
  if (subscriber === undefined) return false;
  const sql = 'SELECT 1 FROM subscribers WHERE id = ? AND member_of = ? AND revoked IS NULL';
  return (await database.first(sql, subscriber, group)) !== undefined;
}

/** The group's name and a number: the next one that no subscriber has, also among those who were removed. */
async function freeName(database: Database, { id, name }: Named): Promise<string> {
  for (let number = (await countRows(database, 'subscribers WHERE member_of = ?', id)) + 1; ; number++) {
    const free = `${name} ${number}`;
    if (!(await findSubscriber(database, free))) return free;
  }
}
