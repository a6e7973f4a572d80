/**
 * Invitations for everybody who never came. A mail is noted before it is sent, so that nobody gets two of them in a day, whoever runs this and
 * however often; a run that was broken off is gone on with by another one.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { systemCode } from '../../node-support/system-error.ts';
import { KeyServerError } from '../errors.ts';
import { createCodeOrReplace, hashOfCode, newCode } from '../readers/invitations.ts';
import { audit } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';
import { DIRECTORY_CONDITIONS } from '../subscriptions/directory.ts';
import { isMailAddress } from './address.ts';
import { type FieldsOf, invitationFields, type Sender } from './invitation.ts';
import { unsubscribeLink } from './unsubscribe.ts';

const DAY = 86_400;
/** Mails that fail or are refused one after the other before a run ends. */
const MOST_FAILURES = 10;
/** Links that one transaction keeps: a key server goes on meanwhile. */
const BATCH = 500;

/** `invited`: everybody who may read, and never came. `new`: those of them who have no open link, and no mail of this kind. */
export const MAILING_STATES = ['new', 'invited'] as const;

export interface MailingWish {
  readonly state: (typeof MAILING_STATES)[number];
  readonly plan: string | undefined;
}

/** A subscriber who never came. */
export interface Awaited {
  readonly id: number;
  readonly name: string;
  readonly plan: string | null;
  readonly seats: number | null;
}

/** People who get an invitation now, and the number of others. */
export interface Mailing {
  readonly due: readonly Awaited[];
  /** Names that are no mail addresses; addresses that the mail server refused; people who want no such mail; and those who got one in the last day. */
  readonly unaddressed: number;
  readonly bounced: number;
  readonly unsubscribed: number;
  readonly recent: number;
}

interface Row extends Awaited {
  readonly tried: number | null;
  readonly refusal: string | null;
  readonly unsubscribed: number | null;
}

/** Finds out who gets an invitation. @param byMail - or as a link: then the operator knows the way, also to names that are no mail addresses */
export async function planMailing(state: KeyServerState, wish: MailingWish, byMail: boolean): Promise<Mailing> {
  const now = state.now();
  const values: (number | string)[] = [now, now];
  let where = DIRECTORY_CONDITIONS.invited;
  if (wish.state === 'new') {
    where += ` AND mailed IS NULL AND (tried IS NOT NULL OR NOT EXISTS
      (SELECT 1 FROM invitations WHERE subscriber = s.id AND used_by IS NULL AND expires >= ?))`;
    values.push(now);
  }
  if (wish.plan !== undefined) {
    where += ' AND EXISTS (SELECT 1 FROM subscriptions WHERE subscriber = s.id AND plan = ?)';
    values.push(wish.plan);
  }
  const sql = `SELECT id, name, seats, tried, refusal, unsubscribed,
      (SELECT plan FROM subscriptions WHERE subscriber = s.id ORDER BY begins DESC, plan LIMIT 1) AS plan
    FROM subscribers AS s LEFT JOIN mailings ON mailings.subscriber = s.id WHERE ${where} ORDER BY id`;
  const rows = await state.database.all<Row>(sql, ...values);
  const counts = { unaddressed: 0, bounced: 0, unsubscribed: 0, recent: 0 };
  const due: Awaited[] = [];
  for (const row of rows) {
    const why = reasonAgainst(row, byMail, now);
    if (why) counts[why]++;
    else due.push(row);
  }
  return { due, ...counts };
}

function reasonAgainst({ name, tried, refusal, unsubscribed }: Row, byMail: boolean, now: number) {
  if (unsubscribed !== null) return 'unsubscribed';
  if (!byMail) return undefined;
  if (!isMailAddress(name)) return 'unaddressed';
  if (refusal !== null) return 'bounced';
  return tried !== null && tried > now - DAY ? 'recent' : undefined;
}

/** A person with the code of the invitation. */
export interface Invited extends Awaited {
  readonly code: string;
}

/**
 * Makes invitations for a program of the operator's that sends them.
 *
 * @param keep - puts them where nothing takes them away, before they are good: what is broken off then has lost no link that is
 */
export async function makeInvitations(
  state: KeyServerState,
  wish: MailingWish,
  due: readonly Awaited[],
  expires: number,
  keep: (invited: readonly Invited[]) => void,
): Promise<void> {
  const { database } = state;
  await audit(state, 'invite-many', wish.plan ?? '', { state: wish.state, links: due.length, expires });
  const invited = due.map((person) => ({ ...person, code: newCode() }));
  keep(invited);
  for (let start = 0; start < invited.length; start += BATCH) {
    await database.transaction(async () => {
      for (const { id, code } of invited.slice(start, start + BATCH))
        await createCodeOrReplace(database, id, expires, code);
    });
  }
}

/** Pace at which mails go out. */
export interface MailingPace {
  readonly rate: number;
  readonly connections: number;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

export interface Mailed {
  readonly sent: number;
  /** Addresses that the mail server refused for good. */
  readonly refused: number;
  /** People of `due` who have got nothing: another run goes on with them. */
  readonly left: number;
  readonly failure: KeyServerError | undefined;
}

/**
 * Mails invitations, until all are sent, `signal` is aborted, or ten fail one after the other.
 *
 * @param expires - of the links, in seconds since 1970
 */
export async function mailInvitations(
  sender: Sender,
  wish: MailingWish,
  due: readonly Awaited[],
  expires: number,
  { rate, connections, signal, onProgress }: MailingPace,
): Promise<Mailed> {
  const { state } = sender;
  await audit(state, 'invite-many', wish.plan ?? '', { state: wish.state, mailed: due.length, expires });
  const fieldsOf = await invitationFields(sender);
  const counts = { sent: 0, refused: 0, passed: 0 };
  const ended: { failures: number; failure?: KeyServerError; fault?: unknown } = { failures: 0 };
  const mailOne = async (person: Awaited) => {
    try {
      const outcome = await mailTo(sender, fieldsOf, person, expires);
      counts[outcome]++;
      // A server that refuses everybody refuses this key server: better ten people are left out than all.
      ended.failures = outcome === 'refused' ? ended.failures + 1 : 0;
    } catch (error) {
      ended.failures++;
      if (error instanceof KeyServerError && error.code === 'mail-failed') ended.failure = error;
      else ended.fault ??= error;
    }
    onProgress(counts.sent + counts.refused + counts.passed, due.length);
  };
  const flying = new Set<Promise<void>>();
  let turn = performance.now();
  for (const person of due) {
    await delay(Math.max(0, turn - performance.now()), undefined, { signal }).catch(() => undefined);
    turn = Math.max(turn, performance.now()) + 1000 / rate;
    if (flying.size >= connections) await Promise.race(flying);
    if (signal.aborted || ended.failures >= MOST_FAILURES || ended.fault !== undefined) break;
    const mailed = mailOne(person).finally(() => flying.delete(mailed));
    flying.add(mailed);
  }
  await Promise.all(flying);
  if (ended.fault !== undefined) throw ended.fault;
  const { sent, refused, passed } = counts;
  return { sent, refused, left: due.length - sent - refused - passed, failure: ended.failure };
}

/**
 * Mails one invitation.
 *
 * @returns `passed`: the person came, or has got one from somebody else meanwhile
 * @throws KeyServerError `mail-failed`; the link is void then, and the mail counts as not tried, unless the answer was waited for in vain
 */
async function mailTo(
  sender: Sender,
  fieldsOf: FieldsOf,
  { id, name }: Awaited,
  expires: number,
): Promise<'passed' | 'refused' | 'sent'> {
  const { state, mailer, origins } = sender;
  const { database, now } = state;
  const code = await database.transaction(async () => {
    const taken = await database.run(
      `INSERT INTO mailings (subscriber, tried) SELECT id, ? FROM subscribers AS s WHERE id = ? AND name = ? AND ${DIRECTORY_CONDITIONS.invited}
       ON CONFLICT (subscriber) DO UPDATE SET tried = excluded.tried
         WHERE mailings.unsubscribed IS NULL AND (mailings.tried IS NULL OR mailings.tried <= ?)`,
      ...[now(), id, name, now(), now(), now() - DAY],
    );
    return taken === 0 ? undefined : createCodeOrReplace(database, id, expires);
  });
  if (code === undefined) return 'passed';
  try {
    const ends = await unsubscribeLink(state, origins.reading, id);
    await mailer.send(name, 'invitation', { ...fieldsOf(name, { code, expires }), unsubscribe: ends }, ends);
  } catch (error) {
    const isRefused = error instanceof KeyServerError && error.code === 'mail-refused';
    // The mail may have arrived: its link stays, and no other one follows on this day.
    if (error instanceof KeyServerError && systemCode(error.cause) === 'ETIMEDOUT') throw error;
    await database.transaction(async () => {
      await database.run('DELETE FROM invitations WHERE code_hash = ?', hashOfCode(code.replaceAll('-', '')));
      if (!isRefused) await database.run('UPDATE mailings SET tried = NULL WHERE subscriber = ?', id);
    });
    if (isRefused) return 'refused';
    throw error;
  }
  await database.run('UPDATE mailings SET mailed = ? WHERE subscriber = ?', now(), id);
  return 'sent';
}
