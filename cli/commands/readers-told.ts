/** What became of the Readers that a command told something. */

import { type ReaderAnswer, type RefusedAnswer, UNREACHABLE } from '../../client-proxy/index.ts';
import { setExitCode } from '../io/context.ts';
import { EXIT, say, sayHint } from '../io/voice.ts';

/**
 * Says of each Reader that did not do what it was told why, and what helps.
 *
 * @param refused - what is said of one that answered
 */
export function sayWhoDidNot(readers: readonly ReaderAnswer[], refused: string): void {
  for (const reader of readers) {
    if (!('error' in reader)) continue;
    const { error, code, hint } = reader;
    const who = nameIn(readers, reader);
    say(
      code === UNREACHABLE ? `${error}; it may still have its keys [${code}]` : `${who}${refused}: ${error} [${code}]`,
    );
    if (hint !== undefined) sayHint(hint);
  }
}

/** What stands in front of what is said of one Reader: nothing where it is the only one, else which it is. */
export function nameIn(readers: readonly ReaderAnswer[], { url }: ReaderAnswer): string {
  return readers.length > 1 && url !== undefined ? `${url}: ` : '';
}

/** Of Readers that were asked how they are, and do not say it. */
export function sayWhoIsSilent(silent: readonly RefusedAnswer[]): void {
  for (const { error, code, hint } of silent) {
    say(`${error} [${code}]`);
    if (hint !== undefined) sayHint(hint);
  }
}

/** The exit code says whether all did what they were told. */
export function failIfAnyDidNot(readers: readonly (ReaderAnswer | RefusedAnswer)[]): void {
  if (readers.some((reader) => 'error' in reader)) setExitCode(EXIT.failed);
}
