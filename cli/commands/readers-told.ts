/** What became of the Readers that a command told something. */
import { type ReaderAnswer, UNREACHABLE } from '../../client-proxy/index.ts';
import { EXIT, say } from '../voice.ts';

/** Says of each Reader that did not do what it was told why, and what helps; then the exit code says so, too. @param refused - of one that answered */
export function sayWhoDidNot(readers: readonly ReaderAnswer[], refused: string): void {
  for (const reader of readers) {
    if (!('error' in reader)) continue;
    process.exitCode = EXIT.failed;
    const { error, code } = reader;
    say(code === UNREACHABLE ? `${error}; it may still have its keys [${code}]` : `${refused}: ${error} [${code}]`);
    if (reader.process !== undefined) say(`hint: to end it: kill -KILL ${reader.process}`);
  }
}

/** For results that are printed as JSON. */
export function failIfAnyDidNot(readers: readonly ReaderAnswer[]): void {
  if (readers.some((reader) => 'error' in reader)) process.exitCode = EXIT.failed;
}
