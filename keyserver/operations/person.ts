/** Describes a subscriber, as the operators' pages and `wispr admin list NAME` show them. */
import { devicesOf, type ListedDevice } from '../readers/devices.ts';
import { countRows } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { decideAccess } from '../subscriptions/access.ts';
import type { Right } from '../subscriptions/periods.ts';
import { groupOf, type Seats, seatsOf } from '../subscriptions/seats.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { rightsOf } from '../subscriptions/subscriptions.ts';
import type { Why } from './why.ts';

const NEWEST = 12;

/** Times in seconds since 1970. */
export interface Person {
  readonly name: string;
  readonly revoked: number | null;
  /** The group whose member they are, and whose rights they have. */
  readonly group: string | null;
  readonly seats: Seats | null;
  readonly rights: readonly Right[];
  /** The newest sets, the newest first. */
  readonly sets: readonly SetAnswer[];
  /** Devices that get keys, the newest first. */
  readonly devices: readonly ListedDevice[];
  /** Tells whether a password was set on the reading site. */
  readonly account: boolean;
  readonly sessions: number;
  /** Invitations that were not used and can still be. */
  readonly openInvitations: number;
  /** Answer by which the mail server refused the address for good. */
  readonly mailRefusal: string | null;
}

export interface SetAnswer {
  readonly set: string;
  readonly can: boolean;
  readonly reason: Why['reason'];
  /** The right that covers it, or has ended; `null` where there is none. */
  readonly by: Right | null;
}

export async function describePerson(state: KeyServerState, { id, name, revoked }: Subscriber): Promise<Person> {
  const { database, now } = state;
  const rights = await rightsOf(database, id);
  const newest = 'SELECT name FROM sets GROUP BY name ORDER BY max(imported) DESC, name DESC LIMIT ?';
  const count = (what: string, ...values: number[]) => countRows(database, what, id, ...values);
  return {
    name,
    revoked,
    group: (await groupOf(database, id)) ?? null,
    seats: (await seatsOf(state, id)) ?? null,
    rights,
    sets: (await database.all<{ name: string }>(newest, NEWEST)).map((set) =>
      revoked === null ? answer(rights, set.name, now()) : { set: set.name, can: false, reason: 'revoked', by: null },
    ),
    devices: await devicesOf(database, id),
    account: (await count('accounts WHERE subscriber = ?')) > 0,
    sessions: await count('sessions WHERE subscriber = ? AND expires >= ?', now()),
    mailRefusal:
      (await database.first<{ refusal: string | null }>('SELECT refusal FROM mailings WHERE subscriber = ?', id))
        ?.refusal ?? null,
    openInvitations: await count('invitations WHERE subscriber = ? AND used_by IS NULL AND expires >= ?', now()),
  };
}

function answer(rights: readonly Right[], set: string, now: number): SetAnswer {
  const verdict = decideAccess(rights, set, now);
  const by = verdict.denied === 'not-entitled' ? null : verdict.by;
  return { set, can: verdict.denied === undefined, reason: verdict.denied ?? 'covered', by };
}
