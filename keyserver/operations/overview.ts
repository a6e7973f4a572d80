/** Describes what `wispr admin list` shows: everything but secrets. */
import { readProviderRow } from '../publication/provider.ts';
import { isWithdrawn, readPublication } from '../publication/stored.ts';
import { listTokens, type TokenOverview } from '../publication/tokens.ts';
import type { Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { listPlans, type PlanOverview } from '../subscriptions/plans.ts';
import { takenSeats } from '../subscriptions/seats.ts';
import type { Grant } from '../subscriptions/subscribers.ts';
import type { HeldPlan } from '../subscriptions/subscriptions.ts';

export interface Overview {
  readonly publisher: { readonly id: string | null; readonly key: string; readonly serial: number } | null;
  readonly publication: PublicationOverview | null;
  readonly tokens: readonly TokenOverview[];
  readonly sets: readonly {
    readonly name: string;
    readonly site: string;
    readonly id: string;
    readonly imported: number;
  }[];
  readonly plans: readonly PlanOverview[];
  readonly subscribers: readonly SubscriberOverview[];
}

/** Times in seconds since 1970. */
export interface PublicationOverview {
  readonly version: number;
  readonly withdrawn: boolean;
  /** Time at which it came; then from whom, and from where. */
  readonly published: number;
  readonly who: string;
  readonly place: string;
  /** Time at which the timestamp was signed, and until which it is fresh. */
  readonly signed: number;
  readonly expires: number;
  /** Tells whether the key for signing it again is here. */
  readonly signsHere: boolean;
  readonly expiries: readonly { readonly role: string; readonly expires: number }[];
  readonly pushes: readonly {
    readonly target: string;
    readonly succeeded: number | null;
    readonly failed: number | null;
  }[];
}

export interface SubscriberOverview {
  readonly name: string;
  readonly revoked: number | null;
  /** Number of members that a group can have, and has. */
  readonly seats: number | null;
  readonly taken: number;
  readonly group: string | null;
  readonly grants: readonly Grant[];
  readonly subscriptions: readonly HeldPlan[];
  readonly devices: readonly DeviceOverview[];
  readonly account: boolean;
  readonly sessions: number;
  readonly openInvitations: number;
  readonly mailRefusal: string | null;
}

export interface DeviceOverview {
  /** The first characters of the device key's id. */
  readonly id: string;
  readonly kind: 'browser' | 'reader';
  readonly created: number;
  readonly lastSeen: number | null;
  readonly revoked: number | null;
}

type SubscriberRow = Omit<SubscriberOverview, 'account' | 'devices' | 'grants' | 'subscriptions'> & {
  readonly id: number;
  readonly accounts: number;
};

export async function overview(state: KeyServerState): Promise<Overview> {
  const { database } = state;
  const provider = await readProviderRow(database);
  return {
    publisher: provider ? { id: provider.root, key: provider.publisher_key, serial: provider.serial } : null,
    publication: await describePublication(state),
    tokens: await listTokens(state),
    sets: await database.all('SELECT name, site, id, imported FROM sets ORDER BY site, name, imported'),
    plans: await listPlans(state),
    subscribers: await describeSubscribers(state),
  };
}

export async function describePublication({ database }: KeyServerState): Promise<PublicationOverview | null> {
  const known = await readPublication(database);
  if (!known) return null;
  const { snapshotVersion, version, expires, expiries, published, who, place } = known;
  const signsHere = (await database.first('SELECT 1 FROM timestamp_key')) !== undefined;
  const sql = 'SELECT target, succeeded, failed FROM pushes ORDER BY target';
  const pushes = await database.all<PublicationOverview['pushes'][number]>(sql);
  const withdrawn = isWithdrawn(known);
  const about = { withdrawn, published, who, place };
  return { version: snapshotVersion, ...about, signed: version, expires, signsHere, expiries, pushes };
}

/** Describes all in three queries: however many there are, a database elsewhere is not asked for each. */
async function describeSubscribers({ database, now }: KeyServerState): Promise<SubscriberOverview[]> {
  const sql = `SELECT id, name, revoked, seats,
      ${takenSeats('subscribers.id')} AS taken,
      (SELECT name FROM subscribers AS its WHERE its.id = subscribers.member_of) AS "group",
      (SELECT refusal FROM mailings WHERE subscriber = subscribers.id) AS "mailRefusal",
      (SELECT count(*) FROM accounts WHERE subscriber = subscribers.id) AS accounts,
      (SELECT count(*) FROM sessions WHERE subscriber = subscribers.id AND expires >= ?) AS sessions,
      (SELECT count(*) FROM invitations WHERE subscriber = subscribers.id AND used_by IS NULL AND expires >= ?) AS "openInvitations"
    FROM subscribers ORDER BY name_key`;
  const subscribers = await database.all<SubscriberRow>(sql, now(), now(), now());
  const granted = 'subscriber, pattern, granted_from AS "from", granted_until AS until FROM grants ORDER BY pattern';
  const grants = await bySubscriber<Grant>(database, granted);
  const held = `subscriber, plan, title, zone, begins AS "from", ends AS until
    FROM subscriptions JOIN plans ON plans.name = plan ORDER BY plan, begins`;
  const subscriptions = await bySubscriber<HeldPlan>(database, held);
  const bound = `subscriber, substr(key_id, 1, 8) AS id, kind, created, last_seen AS "lastSeen", revoked
    FROM devices ORDER BY created, devices.id`;
  const devices = await bySubscriber<DeviceOverview>(database, bound);
  return subscribers.map(({ id, name, revoked, accounts, ...counts }) => ({
    name,
    revoked,
    grants: grants.get(id) ?? [],
    subscriptions: subscriptions.get(id) ?? [],
    devices: devices.get(id) ?? [],
    account: accounts > 0,
    ...counts,
  }));
}

/** Rows by their column `subscriber`, in the order of the query. @param selected - what follows `SELECT` */
async function bySubscriber<Row>(database: Database, selected: string): Promise<Map<number, Row[]>> {
  const found = new Map<number, Row[]>();
  const all = await database.all<Row & { readonly subscriber: number }>(`SELECT ${selected}`);
  for (const { subscriber, ...row } of all) {
    const rows = found.get(subscriber) ?? [];
    rows.push(row as Row);
    found.set(subscriber, rows);
  }
  return found;
}
