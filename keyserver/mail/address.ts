/** Mail addresses. The name of a subscriber is one, or it is not: there is no second place for it. */
import { z } from 'zod';
import { KeyServerError } from '../errors.ts';
import { asciiDomain, isSubscriberName, MAXIMUM_NAME_LENGTH } from '../subscriptions/subscribers.ts';

/** Characters before the `@` for which a mail server needs SMTPUTF8 (RFC 6531). */
export const NEEDS_UTF8 = /[^\0-\x7f](?=.*@)/gu;
/** Domains with a dot, whose last part is no number; 64 characters before the `@`. The rest is the pattern of HTML: no quotes, comments, lists, line ends. */
const PARTS = /^[^@]{1,64}@.+\.(?!\d)[^.]+$/;

/** Tells whether mail can be sent to a subscriber of this name. */
export function isMailAddress(name: string): boolean {
  return mailAddressOf(name) !== undefined;
}

/** The address as mail servers take it, with an international domain in ASCII. @throws KeyServerError `name-refused` where the name is none */
export function requireMailAddress(name: string): string {
  const address = mailAddressOf(name);
  if (address !== undefined) return address;
  throw new KeyServerError('name-refused', 'the name of this subscriber is no mail address', { typed: true });
}

function mailAddressOf(name: string): string | undefined {
  // A compatibility form is looked up as another name than that to which the mail would go.
  if (!isSubscriberName(name) || name.normalize('NFKC') !== name) return undefined;
  const address = asciiDomain(name);
  // Names have letters, marks and digits beyond ASCII, and no more.
  const plain = address.replace(NEEDS_UTF8, 'a');
  const isOne = z.regexes.html5Email.test(plain) && PARTS.test(address);
  return isOne && address.length <= MAXIMUM_NAME_LENGTH ? address : undefined;
}
