/**
 * Codes of six digits that are mailed. A code is good in the browser that asked for it, for ten minutes and five tries. Only digests are
 * stored, and that of a code covers the secret of the browser: whoever reads the database cannot try the million there are.
 *
 * Whatever name is typed, the same is stored and looked up; only whether a mail is sent differs, and that is after the answer.
 */
import { randomInt } from 'node:crypto';
import { equalSecrets } from '#primitives';
import { createCode, hashOfCode } from '../readers/invitations.ts';
import { digest, newSecret } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import { nameKey } from '../subscriptions/subscribers.ts';

/** Seconds. */
export const MAIL_CODE_LIFETIME = 600;
const TRIES = 5;
/** Number of wrong codes for one name, and the seconds after the first of them; after that, mails for it have the link alone. */
const WRONG_CODES = 10;
const WRONG_CODES_PERIOD = 30 * 86_400;
const MAXIMUM_TARGET_LENGTH = 4096;

/** Purpose: to take another address, to sign in, to make an account. */
export type MailPurpose = 'move' | 'sign-in' | 'sign-up';

export interface MailCodeRequest {
  readonly purpose: MailPurpose;
  /** Name as `typedName` returned it. */
  readonly name: string;
  readonly subscriber: number | undefined;
  /** Path and query to go to afterwards. */
  readonly target: string;
}

export interface NewMailCode {
  readonly secret: string;
  /** `undefined`: too many wrong ones were tried for this name. */
  readonly code: string | undefined;
}

/** A code that a browser can type. */
export interface OpenMailCode extends Omit<MailCodeRequest, 'subscriber'> {
  readonly subscriber: number | null;
}

/** Makes a code. The work is the same for every name. */
export async function createMailCode(state: KeyServerState, request: MailCodeRequest): Promise<NewMailCode> {
  const { database, now } = state;
  const { purpose, name, subscriber, target } = request;
  const secret = newSecret();
  const code = String(randomInt(1_000_000)).padStart(6, '0');
  const expires = now() + MAIL_CODE_LIFETIME;
  return database.transaction(async () => {
    await database.run('DELETE FROM mail_codes WHERE expires < ?', now());
    await database.run('DELETE FROM wrong_mail_codes WHERE expires < ?', now());
    const sql = `INSERT INTO mail_codes (browser_hash, code_hash, purpose, name, subscriber, target, tries, expires)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
    const to = target.length > MAXIMUM_TARGET_LENGTH ? '/' : target;
    const hashes = [browserHash(secret), codeHash(secret, code)];
    await database.run(sql, ...hashes, purpose, name, subscriber ?? null, to, TRIES, expires);
    const isTried = (await wrongCodes(state, name)) >= WRONG_CODES;
    return { secret, code: isTried ? undefined : code };
  });
}

/**
 * Makes the link of the same mail, an invitation that lasts as long as the code. Whether there is one is known to the mailbox alone: this comes
 * after the answer to the browser.
 *
 * @returns the code of the invitation
 */
export async function createMailLink(state: KeyServerState, secret: string, subscriber: number): Promise<string> {
  const { database, now } = state;
  return database.transaction(async () => {
    const link = await createCode(database, subscriber, now() + MAIL_CODE_LIFETIME);
    const sql = 'UPDATE mail_codes SET invitation = ? WHERE browser_hash = ?';
    await database.run(sql, hashOfCode(link.replaceAll('-', '')), browserHash(secret));
    return link;
  });
}

/** Finds what a browser has asked for last, while that can be answered. @param secrets - of the browser, newest first */
export async function findMailCode(
  state: KeyServerState,
  secrets: readonly string[],
): Promise<OpenMailCode | undefined> {
  for (const secret of secrets) {
    const found = await findRow(state, secret);
    if (found) return found;
  }
  return undefined;
}

/**
 * Takes a code, which is used up if it is right. One that is right for nothing counts for everything that the browser has asked for.
 *
 * @param secrets - of the browser, one for each code that it asked for
 * @param use - what the code is for, in the same transaction
 * @returns what `use` did; `wrong`: it can be tried again; `over`: it cannot be
 */
export async function useMailCode<Result>(
  state: KeyServerState,
  secrets: readonly string[],
  code: string,
  use: (found: OpenMailCode, secret: string) => Promise<Result>,
): Promise<Result | 'over' | 'wrong'> {
  const { database } = state;
  return database.transaction(async () => {
    const asked = await findOpen(state, secrets);
    const typed = code.replace(/\s/g, '');
    const [right] = asked.filter(({ secret, found }) => equalSecrets(codeHash(secret, typed), found.code_hash));
    if (right) {
      const { found, secret } = right;
      const result = await use(found, secret);
      await database.run('DELETE FROM mail_codes WHERE browser_hash = ?', browserHash(secret));
      if (found.invitation) await database.run('DELETE FROM invitations WHERE code_hash = ?', found.invitation);
      return result;
    }
    for (const { secret, found } of asked) {
      await database.run('UPDATE mail_codes SET tries = tries - 1 WHERE browser_hash = ?', browserHash(secret));
      await database.run(COUNT_WRONG, nameHash(found.name), state.now() + WRONG_CODES_PERIOD);
    }
    return asked.some(({ found }) => found.tries > 1) ? 'wrong' : 'over';
  });
}

async function findOpen(state: KeyServerState, secrets: readonly string[]) {
  const open: { readonly secret: string; readonly found: Row }[] = [];
  for (const secret of secrets) {
    const found = await findRow(state, secret);
    if (found && (await wrongCodes(state, found.name)) < WRONG_CODES) open.push({ secret, found });
  }
  return open;
}

interface Row extends OpenMailCode {
  readonly code_hash: Uint8Array;
  readonly invitation: Uint8Array | null;
  readonly tries: number;
}

/** Finds the row of a code whose link was not used. */
async function findRow({ database, now }: KeyServerState, secret: string): Promise<Row | undefined> {
  const sql = `SELECT mail_codes.code_hash AS code_hash, purpose, name, mail_codes.subscriber AS subscriber, invitation, target, tries
    FROM mail_codes LEFT JOIN invitations ON invitations.code_hash = invitation
    WHERE browser_hash = ? AND tries > 0 AND mail_codes.expires >= ? AND used_by IS NULL`;
  return database.first<Row>(sql, browserHash(secret), now());
}

async function wrongCodes({ database, now }: KeyServerState, name: string): Promise<number> {
  const sql = 'SELECT count FROM wrong_mail_codes WHERE name_hash = ? AND expires >= ?';
  return (await database.first<{ count: number }>(sql, nameHash(name), now()))?.count ?? 0;
}

const COUNT_WRONG = `INSERT INTO wrong_mail_codes (name_hash, count, expires) VALUES (?, 1, ?)
  ON CONFLICT (name_hash) DO UPDATE SET count = wrong_mail_codes.count + 1`;

/** Hashes a name as it is stored where the name itself is not to stay. */
export function nameHash(name: string): Uint8Array {
  return digest('mail name', nameKey(name));
}

function browserHash(secret: string): Uint8Array {
  return digest('mail browser', secret);
}

function codeHash(secret: string, code: string): Uint8Array {
  return digest('mail code', secret, code);
}
