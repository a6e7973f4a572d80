/** Mail addresses. The name of a subscriber is one, or it is not: there is no second place for it. */
import { KeyServerError } from '../errors.ts';
import { asciiDomain, isSubscriberName, MAXIMUM_NAME_LENGTH } from '../subscriptions/subscribers.ts';

/** RFC 5321 `Dot-string@Domain`, of the characters that a name of a subscriber can have: no quotes, no comments, no lists, no line ends. */
const ATOM = "[\\w!#$%&'*+/=?^{|}~-]+";
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const ADDRESS = new RegExp(`^(?=[^@]{1,64}@)${ATOM}(?:\\.${ATOM})*@(?:${LABEL}\\.)+(?!\\d)${LABEL}$`, 'i');

/** Whether mail can be sent to a subscriber of this name. */
export function isMailAddress(name: string): boolean {
  return mailAddressOf(name) !== undefined;
}

/** The address as mail servers take it, with an international domain in ASCII. @throws KeyServerError `name-refused` where the name is none */
export function requireMailAddress(name: string): string {
  const address = mailAddressOf(name);
  if (address !== undefined) return address;
  throw new KeyServerError(
    'name-refused',
    'the name of this subscriber is no mail address, or has other letters than a to z before the @',
    { typed: true },
  );
}

function mailAddressOf(name: string): string | undefined {
  if (!isSubscriberName(name)) return undefined;
  const address = asciiDomain(name);
  return address.length <= MAXIMUM_NAME_LENGTH && ADDRESS.test(address) ? address : undefined;
}
