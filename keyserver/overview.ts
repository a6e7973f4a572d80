/** What `wispr admin list` shows: everything but secrets. */
import { readProviderRow } from './publication/provider.ts';
import { isWithdrawn, readPublication } from './publication/stored.ts';
import { listTokens, type TokenOverview } from './publication/tokens.ts';
import { type Grant, grantsOf, type Subscriber } from './readers/subscribers.ts';
import { all, first } from './storage/database.ts';
import type { KeyServerState } from './storage/state.ts';

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
  readonly subscribers: readonly SubscriberOverview[];
}

/** Times in seconds since 1970. */
export interface PublicationOverview {
  readonly version: number;
  readonly withdrawn: boolean;
  /** When the timestamp was signed, and until when it is fresh. */
  readonly signed: number;
  readonly expires: number;
  /** Whether the key for signing it again is here. */
  readonly signsHere: boolean;
  /** When other roles expire, as the publisher said. */
  readonly expiries: readonly { readonly role: string; readonly expires: number }[];
  /** Where timestamps are pushed to. */
  readonly pushes: readonly {
    readonly target: string;
    readonly succeeded: number | null;
    readonly failed: number | null;
  }[];
}

export interface SubscriberOverview {
  readonly name: string;
  /** Seconds since 1970, or `null`. */
  readonly revoked: number | null;
  readonly grants: readonly Grant[];
  readonly devices: readonly DeviceOverview[];
  /** Whether a password was set on the reading site. */
  readonly account: boolean;
  readonly sessions: number;
  /** Invitations that were not used and can still be. */
  readonly openInvitations: number;
}

export interface DeviceOverview {
  /** The first characters of the device key's id. */
  readonly id: string;
  readonly kind: 'browser' | 'reader';
  readonly created: number;
  readonly lastSeen: number | null;
  readonly revoked: number | null;
}

type SubscriberRow = Subscriber & {
  readonly account: number;
  readonly sessions: number;
  readonly openInvitations: number;
};

export function overview(state: KeyServerState): Overview {
  const { database, now } = state;
  const provider = readProviderRow(database);
  const subscribers = all<SubscriberRow>(
    database,
    `SELECT id, name, revoked,
       EXISTS (SELECT 1 FROM accounts WHERE subscriber = subscribers.id) AS account,
       (SELECT count(*) FROM sessions WHERE subscriber = subscribers.id AND expires >= ?) AS sessions,
       (SELECT count(*) FROM invitations WHERE subscriber = subscribers.id AND used_by IS NULL AND expires >= ?) AS openInvitations
     FROM subscribers ORDER BY name_key`,
    now(),
    now(),
  );
  return {
    publisher: provider ? { id: provider.root, key: provider.publisher_key, serial: provider.serial } : null,
    publication: describePublication(state),
    tokens: listTokens(state),
    sets: all(database, 'SELECT name, site, id, imported FROM sets ORDER BY site, name, imported'),
    subscribers: subscribers.map((row) => describeSubscriber(state, row)),
  };
}

function describePublication({ database }: KeyServerState): PublicationOverview | null {
  const known = readPublication(database);
  if (!known) return null;
  const { snapshotVersion, version, expires, expiries } = known;
  const signsHere = first(database, 'SELECT 1 FROM timestamp_key') !== undefined;
  const pushes = all<PublicationOverview['pushes'][number]>(
    database,
    'SELECT target, succeeded, failed FROM pushes ORDER BY target',
  );
  const withdrawn = isWithdrawn(known);
  return { version: snapshotVersion, withdrawn, signed: version, expires, signsHere, expiries, pushes };
}

function describeSubscriber({ database }: KeyServerState, row: SubscriberRow): SubscriberOverview {
  const { id, name, revoked, account, sessions, openInvitations } = row;
  const devices = all<DeviceOverview>(
    database,
    `SELECT substr(key_id, 1, 8) AS id, kind, created, last_seen AS lastSeen, revoked FROM devices WHERE subscriber = ? ORDER BY created, id`,
    id,
  );
  return { name, revoked, grants: grantsOf(database, id), devices, account: account === 1, sessions, openInvitations };
}
