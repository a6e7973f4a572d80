/**
 * Pages that subscribers give away: docs/spec/web-reader.md, "Gifts". A gift opens one page by the rights of the person who gave it, as they are when it
 * is opened, and hands out no key. Whoever has opened it may read the page again for a day, in the same browser.
 */
import type { Gifts } from '../../core/publication/offers.ts';
import { asReader, audit } from '../storage/audit.ts';
import { countRows } from '../storage/database.ts';
import { digest, newSecret } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Named, Subscriber } from '../subscriptions/subscribers.ts';

/** Seconds for which the browser that opened a gift may read the page again. */
export const VISIT_LIFETIME = 86_400;

/** A gift that still works. Times in seconds since 1970. */
export interface OpenGift {
  readonly id: number;
  /** URL path of the page. */
  readonly target: string;
  readonly expires: number;
  /** Times that it can still be opened. */
  readonly openings: number;
}

export interface NewGift extends Pick<OpenGift, 'expires' | 'openings'> {
  readonly secret: string;
}

/** Counts the gifts that a subscriber may still make in this month (UTC). */
export async function giftsLeft(
  { database, now }: KeyServerState,
  { id }: Named,
  { perMonth }: Gifts,
): Promise<number> {
  const time = new Date(now() * 1000);
  const month = Date.UTC(time.getUTCFullYear(), time.getUTCMonth()) / 1000;
  return Math.max(0, perMonth - (await countRows(database, 'gifts WHERE subscriber = ? AND made >= ?', id, month)));
}

/** Makes a gift. @param target - URL path of a page that the giver may read @returns `undefined` where this month's are used up */
export async function createGift(
  state: KeyServerState,
  giver: Named,
  target: string,
  terms: Gifts,
): Promise<NewGift | undefined> {
  const { database, now } = state;
  const { days, openings } = terms;
  const [secret, expires] = [newSecret(), now() + days * 86_400];
  return database.transaction(async () => {
    if ((await giftsLeft(state, giver, terms)) === 0) return undefined;
    const sql =
      'INSERT INTO gifts (secret_hash, subscriber, target, made, expires, openings) VALUES (?, ?, ?, ?, ?, ?)';
    await database.run(sql, hashOf(secret), giver.id, target, now(), expires, openings);
    // The trail is for ever, and does not name the page.
    await audit(asReader(state, giver.name), 'gift', giver.name, { days, openings });
    return { secret, expires, openings };
  });
}

/** The gifts of a subscriber that still work, the newest first. */
export function giftsOf({ database, now }: KeyServerState, { id }: Named): Promise<OpenGift[]> {
  const sql = 'SELECT id, target, expires, openings FROM gifts WHERE subscriber = ? AND expires >= ? ORDER BY id DESC';
  return database.all<OpenGift>(sql, id, now());
}

/** Takes a gift back, at once, also from browsers in which it was opened. */
export async function withdrawGift(state: KeyServerState, giver: Named, gift: number): Promise<void> {
  const { database, now } = state;
  await database.transaction(async () => {
    const end = 'UPDATE gifts SET expires = 0 WHERE id = ? AND subscriber = ? AND expires >= ?';
    if ((await database.run(end, gift, giver.id, now())) === 0) return;
    await database.run('DELETE FROM gift_visits WHERE gift = ?', gift);
    await audit(asReader(state, giver.name), 'gift-withdrawn', giver.name);
  });
}

/** Finds a gift, used up or not, by its secret and the page that it is to open; `undefined` where it has ended. */
export async function findGift(
  { database, now }: KeyServerState,
  secret: string,
  target: string,
): Promise<{ readonly id: number; readonly openings: number; readonly giver: Subscriber } | undefined> {
  const sql = `SELECT gifts.id AS gift, openings, subscribers.id, name, revoked FROM gifts JOIN subscribers ON subscribers.id = subscriber
    WHERE secret_hash = ? AND target = ? AND expires >= ?`;
  const found = await database.first<Subscriber & { gift: number; openings: number }>(
    sql,
    hashOf(secret),
    target,
    now(),
  );
  if (!found) return undefined;
  const { gift, openings, ...giver } = found;
  return { id: gift, openings, giver };
}

/**
 * Uses one opening up.
 *
 * @param paths - of the page, and of what it loads
 * @returns the token of the browser that opens it; `undefined` where none is left
 */
export async function openGift(
  state: KeyServerState,
  gift: number,
  paths: readonly string[],
): Promise<string | undefined> {
  const { database, now } = state;
  const token = newSecret();
  return database.transaction(async () => {
    const use = 'UPDATE gifts SET openings = openings - 1, paths = ? WHERE id = ? AND openings > 0 AND expires >= ?';
    if ((await database.run(use, JSON.stringify(paths), gift, now())) === 0) return undefined;
    const visit = 'INSERT INTO gift_visits (token_hash, gift, expires) VALUES (?, ?, ?)';
    await database.run(visit, visitHashOf(token), gift, now() + VISIT_LIFETIME);
    return token;
  });
}

/** Rights of a browser that has opened a gift. */
export interface GiftVisit {
  readonly gift: number;
  readonly giver: Subscriber;
  readonly paths: readonly string[];
}

/** Finds what the tokens of a browser let it read. */
export async function giftVisits({ database, now }: KeyServerState, tokens: readonly string[]): Promise<GiftVisit[]> {
  const sql = `SELECT gift, paths, subscribers.id, name, revoked FROM gift_visits
      JOIN gifts ON gifts.id = gift JOIN subscribers ON subscribers.id = subscriber
    WHERE token_hash = ? AND gift_visits.expires >= ? AND gifts.expires >= ?`;
  const find = (token: string) =>
    database.first<Subscriber & { gift: number; paths: string }>(sql, visitHashOf(token), now(), now());
  const found = await Promise.all(tokens.map(find));
  return found.flatMap((row) => {
    if (row === undefined) return [];
    const { gift, paths, ...giver } = row;
    return { gift, giver, paths: JSON.parse(paths) as string[] };
  });
}

const hashOf = (secret: string) => digest('gift secret', secret);
const visitHashOf = (token: string) => digest('gift visit token', token);
