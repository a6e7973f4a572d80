/** Finds the subscriber for a person at an OpenID provider. Accounts are made at the first sign-in. */
import { KeyServerError } from '../errors.ts';
import { createSubscriber } from '../readers/invitations.ts';
import { asReader, audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import { digest } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findSubscriber, parseSubscriberName } from '../subscriptions/subscribers.ts';
import { subscribe } from '../subscriptions/subscriptions.ts';
import { createSession, type NewSession } from './accounts.ts';
import type { OpenIdPerson } from './openid-provider.ts';

/** Characters of `sub` in OpenID Connect. */
const MAXIMUM_SUBJECT_LENGTH = 255;
const MAXIMUM_NICKNAME_LENGTH = 40;
/** Characters before the @: others have look-alikes that a name of another person could be made of; those of a domain are compared in ASCII. */
const MAIL = /^[\x21-\x7e]+@[^\s@]+$/;

/**
 * Signs a person in: by an identity that is known; as the subscriber whose name is the verified mail address; or as a new subscriber.
 *
 * @param plan - to which a new subscriber subscribes
 * @throws KeyServerError `openid-refused`, `argument-invalid` where there is no such plan
 */
export async function signInPerson(
  state: KeyServerState,
  person: OpenIdPerson,
  plan: string | undefined,
): Promise<NewSession> {
  const { database } = state;
  const { issuer, subject } = person;
  if (subject.length > MAXIMUM_SUBJECT_LENGTH) throw refused('the subject is too long');
  return database.transaction(async () => {
    const sql = 'SELECT subscriber FROM identities WHERE issuer = ? AND subject = ?';
    const known = await database.first<{ subscriber: number }>(sql, issuer, subject);
    return createSession(state, known?.subscriber ?? (await admit(state, person, plan)));
  });
}

async function admit(state: KeyServerState, person: OpenIdPerson, plan: string | undefined): Promise<number> {
  const { database, now } = state;
  const mail = nameFrom(person.mail !== undefined && MAIL.test(person.mail) ? person.mail : '');
  const found = mail === undefined ? undefined : await findSubscriber(database, mail);
  const name = found?.name ?? mail ?? (await freeName(database, person));
  const id = found?.id ?? (await createSubscriber(database, name, now()));
  if (!found && plan !== undefined) await subscribe(database, id, plan, now(), null);
  const sql = 'INSERT INTO identities (issuer, subject, subscriber, created) VALUES (?, ?, ?, ?)';
  await database.run(sql, person.issuer, person.subject, id, now());
  await audit(asReader(state, name), found ? 'openid-linked' : 'openid-account', name, {
    issuer: person.issuer,
    plan: found ? null : plan,
  });
  return id;
}

/**
 * A name that no other person has or will be invited by: a nickname can be chosen freely, so by itself it could be the name or the mail address
 * of another person.
 */
async function freeName(database: Database, { issuer, subject, nickname = '' }: OpenIdPerson): Promise<string> {
  const suffix = Buffer.from(digest('openid name', issuer, subject))
    .toString('hex')
    .slice(0, 8);
  const [before = ''] = nickname.split('@', 1);
  const name = nameFrom(`${before.trim().slice(0, MAXIMUM_NICKNAME_LENGTH)}-${suffix}`) ?? `reader-${suffix}`;
  if (await findSubscriber(database, name)) throw refused('the name is taken');
  return name;
}

/** `undefined` for what cannot be a name. */
function nameFrom(text: string): string | undefined {
  try {
    return parseSubscriberName(text);
  } catch (error) {
    if (error instanceof KeyServerError) return undefined;
    throw error;
  }
}

function refused(message: string): KeyServerError {
  return new KeyServerError('openid-refused', message);
}
