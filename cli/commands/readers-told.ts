/** What became of the Readers that a command told something. */
import { type ReaderAnswer, UNREACHABLE } from '../../client-proxy/index.ts';
import { EXIT, say } from '../voice.ts';

/**
 * Says of each Reader that did not do what it was told why, and what helps.
 *
 * @param refused - what is said of one that answered
 * @param hintFor - what helps against its reason
 */
export function sayWhoDidNot(
  readers: readonly ReaderAnswer[],
  refused: string,
  hintFor: (code: string) => string | undefined = () => undefined,
): void {
  for (const reader of readers) {
    if (!('error' in reader)) continue;
    const { error, code, hint = hintFor(code) } = reader;
    say(code === UNREACHABLE ? `${error}; it may still have its keys [${code}]` : `${refused}: ${error} [${code}]`);
    if (hint !== undefined) say(`hint: ${hint}`);
  }
}

/** The exit code says whether all did what they were told. */
export function failIfAnyDidNot(readers: readonly ReaderAnswer[]): void {
  if (readers.some((reader) => 'error' in reader)) process.exitCode = EXIT.failed;
}
