/**
 * Ways to a shop that browsers have begun here, and what came of them. The shop is given a random reference and brings it back with what was bought;
 * the browser keeps a secret in a cookie. Only digests are stored. A reference, a checkout's id or a secret alone proves nothing: all three belong
 * together, and to a purchase that has made its subscriber.
 */
import { equalSecrets } from '#primitives';
import type { Database } from '../storage/database.ts';
import { digest, newSecret } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';

type State = Pick<KeyServerState, 'database' | 'now'>;

/** Seconds in which a checkout can be paid and told of, which Stripe does for a day and three more; and in which the browser can come back afterwards. */
export const CHECKOUT_LIFETIME = 5 * 86_400;
const RETURN_LIFETIME = 3600;
/** Checkouts that are kept; the oldest make room. Whoever paid by one that is gone opens the link of the mail. */
const MOST_CHECKOUTS = 100_000;
const MAXIMUM_TARGET_LENGTH = 4096;

/** Plan to be bought, and the page that the browser goes on to. */
export interface CheckoutRequest {
  readonly plan: string;
  /** Path and query of a document. */
  readonly target: string;
  /** Subscriber who is signed in. */
  readonly subscriber: number | undefined;
}

/** Begins a checkout. @returns what the shop is given, and the secret of the browser */
export async function createCheckout(
  { database, now }: State,
  { plan, target, subscriber }: CheckoutRequest,
): Promise<{ readonly reference: string; readonly secret: string }> {
  const [reference, secret] = [newSecret(), newSecret()];
  const sql = `INSERT INTO checkouts (reference_hash, browser_hash, plan, target, subscriber, expires)
    VALUES (?, ?, ?, ?, ?, ?)`;
  const expires = now() + CHECKOUT_LIFETIME;
  const hashes = [referenceHash(reference), browserHash(secret)];
  const to = target.length > MAXIMUM_TARGET_LENGTH ? '/' : target;
  await database.run(sql, ...hashes, plan, to, subscriber ?? null, expires);
  const tooMany = `SELECT expires FROM checkouts ORDER BY expires DESC LIMIT 1 OFFSET ${MOST_CHECKOUTS}`;
  await database.run(`DELETE FROM checkouts WHERE expires <= (${tooMany})`);
  return { reference, secret };
}

/** A checkout that nothing has come of yet. */
export interface OpenCheckout {
  readonly target: string;
  /** Subscriber who was signed in when it began. */
  readonly subscriber: number | null;
  readonly name: string | null;
}

/** Finds an open checkout by its reference. */
export async function findCheckout({ database, now }: State, reference: string): Promise<OpenCheckout | undefined> {
  const sql = `SELECT target, subscriber, name FROM checkouts LEFT JOIN subscribers ON subscribers.id = subscriber
    WHERE reference_hash = ? AND session_hash IS NULL AND expires >= ?`;
  return database.first<OpenCheckout>(sql, referenceHash(reference), now());
}

/** Finds the page to which a buyer wanted to go. @param source - names the subscription that was bought */
export async function targetOf(database: Database, source: string): Promise<string> {
  const sql = 'SELECT target FROM checkouts WHERE source = ?';
  return (await database.first<{ target: string }>(sql, source))?.target ?? '/';
}

/** Statement of the shop about a checkout. */
export interface Purchase {
  /** Name of the checkout at the shop. */
  readonly session: string;
  /** Name of the subscription: kept-elsewhere.ts. */
  readonly source: string;
  readonly buyer: number;
  /** Tells whether the purchase has made the subscriber. */
  readonly isNew: boolean;
}

/** Notes, once, what was bought, within the caller's transaction. */
export async function completeCheckout({ database, now }: State, reference: string, bought: Purchase): Promise<void> {
  const { session, source, buyer, isNew } = bought;
  const sql = `UPDATE checkouts SET session_hash = ?, source = ?, buyer = ?, is_new = ?, expires = ?
    WHERE reference_hash = ? AND session_hash IS NULL AND expires >= ?`;
  const values = [sessionHash(session), source, buyer, Number(isNew), now() + RETURN_LIFETIME];
  await database.run(sql, ...values, referenceHash(reference), now());
}

/** A purchase that a browser has come back from. */
export interface Return {
  readonly secret: string;
  readonly buyer: number;
  readonly isNew: boolean;
  readonly target: string;
}

interface ReturnRow {
  readonly session_hash: Uint8Array | null;
  readonly buyer: number | null;
  readonly is_new: number | null;
  readonly target: string;
  readonly readable: number;
}

/**
 * Finds the purchase that a browser has come back from.
 *
 * @param secrets - of the browser
 * @param session - name of the checkout at the shop, out of the address
 * @returns `waits`: the shop has not told all of it yet
 */
export async function findReturn(
  { database, now }: State,
  secrets: readonly string[],
  session: string,
): Promise<Return | 'waits' | undefined> {
  const sql = `SELECT session_hash, buyer, is_new, target, (SELECT count(*) FROM subscriptions
      WHERE subscriptions.source = checkouts.source AND subscriptions.subscriber = buyer AND ends >= ?) AS readable
    FROM checkouts LEFT JOIN subscribers ON subscribers.id = buyer
    WHERE browser_hash = ? AND expires >= ? AND revoked IS NULL`;
  let waits = false;
  for (const secret of secrets) {
    const row = await database.first<ReturnRow>(sql, now(), browserHash(secret), now());
    if (!row || (row.session_hash && !equalSecrets(row.session_hash, sessionHash(session)))) continue;
    const { buyer, is_new, target } = row;
    if (buyer !== null && row.readable > 0) return { secret, buyer, isNew: is_new === 1, target };
    waits = true;
  }
  return waits ? 'waits' : undefined;
}

/** Uses up what was found. @returns whether it was there still */
export async function useReturn({ database }: State, { secret }: Return): Promise<boolean> {
  return (await database.run('DELETE FROM checkouts WHERE browser_hash = ?', browserHash(secret))) > 0;
}

const referenceHash = (reference: string) => digest('checkout reference', reference);
const browserHash = (secret: string) => digest('checkout browser', secret);
const sessionHash = (session: string) => digest('checkout session', session);
