/** `wispr keys list` for people. */
import { nowInSeconds, utcMinute } from '../../node-support/clock.ts';
import { shortId } from '../../publisher/keys/roots.ts';
import {
  type KeyListing,
  type ListedKey,
  type ListedRole,
  SECTION_PREFIX,
  type SecretListing,
} from '../../publisher/publication/list-keys.ts';
import type { RoleState } from '../../publisher/publication/roles.ts';
import { count } from '../../publisher/text.ts';
import { say, sayHint } from '../io/voice.ts';
import { isoDay } from './describe.ts';
import { EXPIRY_WARNING } from './expiry-words.ts';

const DAY = 86_400;

export function describeKeys(listing: KeyListing): string {
  const { rootId, rootVersion, secret, roles } = listing;
  return [
    `${rootId}  (your fingerprint)`,
    `root ${rootVersion}, ${stateOf(listing)}`,
    '',
    ...table([
      ['ROLE', 'KEY', 'WHERE IT IS', 'NEEDED', 'VERSION', 'GOOD UNTIL'],
      ...roles.flatMap((role) => rowsOf(role, listing)),
    ]),
    ...others(listing),
    ...(secret ? ['', `Objects are signed by the publisher key ${secret.publisherKey}`, ...setsOf(secret.sets)] : []),
    ...invitedOf(secret?.invitations ?? []),
  ].join('\n');
}

function stateOf({ publication, closed }: KeyListing): string {
  if (publication === undefined) return 'nothing published yet';
  return `publication ${publication}${closed ? ', WITHDRAWN' : ''}`;
}

/** Prints tasks that are due soon, on standard error, so that scripts see them too. */
export function warnAboutKeys({
  expiries,
  rootVersion,
  publishedRoot,
  publication,
  problem,
  waiting,
  closed,
}: KeyListing): void {
  const now = nowInSeconds();
  const again = `run "wispr publish", or "wispr protect" where you copy the output yourself`;
  if (problem !== undefined) say(`what is published cannot be verified: ${problem}`);
  for (const { role, expires } of expiries) {
    if (role === 'timestamp' || expires > now + EXPIRY_WARNING) continue;
    say(`${role} ${expires < now ? 'expired' : 'expires'} on ${isoDay(expires)}`);
    sayHint(role === 'root' ? 'run "wispr keys renew"' : again);
  }
  for (const file of waiting) {
    say(
      `${file} waits for signatures of others${file.startsWith('root') ? ': until it has them, or is removed, roles cannot be changed' : ''}`,
    );
    sayHint(`run "wispr keys finish ${file}", with what came back from them`);
  }
  if (publishedRoot !== undefined && publishedRoot < rootVersion) {
    say(`root ${rootVersion} is not published yet; readers know root ${publishedRoot}`);
    sayHint(`${again}`);
  }
  if (publishedRoot !== undefined && publishedRoot > rootVersion) {
    say(`root ${publishedRoot} is published, and publisher.keys knows of root ${rootVersion}: it is older`);
    sayHint('bring the publisher.keys that knows it, from after that change of keys');
  }
  if (publication !== undefined && closed) {
    say(`publication ${publication} is a withdrawal: readers are shown nothing until there is a higher one`);
    sayHint(`put right what was wrong, then ${again}`);
  }
}

function rowsOf({ role, keys, threshold }: ListedRole, { expiries }: KeyListing): string[][] {
  const expiry = expiries.find((entry) => entry.role === bareName(role));
  if (keys.length === 0) return [[role, '-', 'made by the next "wispr protect"', '-', '-', '-']];
  const needed = `${threshold} of ${keys.length}`;
  return keys.map((key, index) => [
    index === 0 ? role : '',
    shortId(key.keyid),
    placeOf(key),
    ...(index === 0 ? [needed, versionOf(expiry), untilOf(expiry)] : []),
  ]);
}

/** Returns the name of a role in metadata. */
function bareName(role: string): string {
  return role.startsWith(SECTION_PREFIX) ? role.slice(SECTION_PREFIX.length) : role;
}

function placeOf({ place, atKeyServer }: ListedKey): string {
  if (place === 'unknown') return '-';
  return atKeyServer ? `${place}, key server` : place;
}

function versionOf(expiry: RoleState | undefined): string {
  if (expiry === undefined) return '-';
  return expiry.role === 'timestamp' ? '' : String(expiry.version);
}

function untilOf(expiry: RoleState | undefined): string {
  if (expiry === undefined) return '-';
  const { role, expires } = expiry;
  const left = expires - nowInSeconds();
  if (left < 0) return `${isoDay(expires)}  EXPIRED`;
  if (role === 'timestamp') return utcMinute(expires);
  return left < EXPIRY_WARNING ? `${isoDay(expires)}  in ${Math.floor(left / DAY)} days` : isoDay(expires);
}

/** The roles below `targets`, which have its keys: the first of them to expire. */
function others({ expiries, roles }: KeyListing): string[] {
  const delegated = expiries.filter(({ role }) => !roles.some((own) => bareName(own.role) === role));
  const [first] = delegated.sort((a, b) => a.expires - b.expires);
  return first ? [`The lists of documents, signed by targets, are good until ${untilOf(first)}.`] : [];
}

function setsOf(sets: readonly { name: string; id: string; since: number }[]): string[] {
  if (sets.length === 0) return ['', 'No sets yet: each gets its key when it has its first document.'];
  const rows = sets.map(({ name, id, since }) => [name, id.slice(0, 12), `${isoDay(since)}, ${ageOf(since)}`]);
  return ['', ...table([['SET', 'KEY', 'SINCE'], ...rows])];
}

function invitedOf(invitations: SecretListing['invitations']): string[] {
  if (invitations.length === 0) return [];
  const rows = invitations.map(({ name, sets, until }) => [name, sets.join(', '), until ? isoDay(until) : '-']);
  return ['', ...table([['INVITED', 'SETS', 'UNTIL'], ...rows])];
}

function ageOf(since: number): string {
  const days = Math.floor((nowInSeconds() - since) / DAY);
  return days < 1 ? 'today' : `${count(days, 'day')} ago`;
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (all, row) => row.map((cell, index) => Math.max(cell.length, all[index] ?? 0)).concat(all.slice(row.length)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
