/** Mail addresses. The name of a subscriber is one, or it is not: there is no second place for it. */
import { KeyServerError } from '../errors.ts';

/** RFC 5321 `Dot-string@Domain`, of the characters that a name of a subscriber can have: no quotes, no comments, no lists, no line ends. */
const ADDRESS = /^[a-z0-9_+'&-]+(?:\.[a-z0-9_+'&-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i;
const MAXIMUM_LENGTH = 64;

/** Whether mail can be sent to a subscriber of this name. */
export function isMailAddress(name: string): boolean {
  return name.length <= MAXIMUM_LENGTH && ADDRESS.test(name);
}

/** @throws KeyServerError `name-refused` where no mail can be sent to a subscriber of this name */
export function requireMailAddress(name: string): void {
  if (!isMailAddress(name))
    throw new KeyServerError('name-refused', 'the name of this subscriber is no mail address', { typed: true });
}
