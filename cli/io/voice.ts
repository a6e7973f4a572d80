/**
 * The one voice of the command line: prefix, lower case, no full stop; what happened, why, and a hint what to do. Everything for people goes
 * to standard error, results to standard output, so that pipes carry results only.
 */
import { CodedError, type CodedErrorOptions } from '../../core/errors.ts';
import { orDiskFull } from '../../node-support/disk-full.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { currentIo } from './context.ts';

/** Exit codes: good, failed, typed wrong, and `verify` or `check` found something. */
export const EXIT = { good: 0, failed: 1, usage: 2, found: 3 } as const;

/** A wrong argument, a missing file: what the person at the terminal can put right. */
export class UsageError extends CodedError<'usage'> {
  /** @param remedy - what to type instead, where the message alone does not say */
  constructor(message: string, remedy?: string, options?: CodedErrorOptions) {
    super({ usage: { means: 'a wrong argument', ...(remedy !== undefined && { remedy }) } }, 'usage', message, {
      ...options,
      typed: true,
    });
  }
}

/** Writes a line to the person at the terminal. */
export function say(line: string): void {
  currentIo().stderr.write(`wispr: ${line}\n`);
}

/** @param remedy - what to do, in Markdown */
export function sayHint(remedy: string): void {
  say(hintLine(remedy));
}

/** The line of a hint, among lines that are said later. */
export function hintLine(remedy: string): string {
  return `hint: ${plain(remedy)}`;
}

/** Markdown as a terminal shows it: what one types is between quotation marks if it has spaces. */
export function plain(markdown: string): string {
  return markdown.replace(/`([^`]*)`/g, (_, code: string) =>
    /[ "]/.test(code) ? (code.includes('"') ? code : `"${code}"`) : code,
  );
}

/** A result on standard output. */
export function print(text: string): void {
  currentIo().stdout.write(`${text}\n`);
}

/** Says what happened, its code (docs/generated/errors.md), and the remedy; returns the exit code. An unexpected error also shows where it happened. */
export function explain(thrown: unknown): number {
  const error = orDiskFull(thrown);
  if (!(error instanceof CodedError)) {
    say(describeUnforeseen(error));
    return EXIT.failed;
  }
  const message = error.code === 'usage' ? error.message : `${error.message} [${error.code}]`;
  for (const line of message.split('\n')) say(line);
  if (error.remedy !== undefined) sayHint(error.remedy);
  return error.typed ? EXIT.usage : EXIT.failed;
}

/** Describes an error. System errors (ENOSPC, EADDRINUSE …) carry their own words; anything else is a bug, and says where. */
function describeUnforeseen(error: unknown): string {
  if (error instanceof Error && 'syscall' in error) return error.message;
  return `internal error, please report it: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** The reader of a pipe has gone, as `head` does when it has enough; what is written afterwards meets a closed stream. */
const READER_GONE = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'];

/**
 * Keeps errors of standard output and standard error from ending the process. A reader who leaves early changes nothing. If results
 * cannot be written for another reason, such as a full disk, that is said once, and the command fails when its work is done.
 */
export function outliveOutputErrors(): void {
  process.stderr.on('error', () => undefined); // ignored: there is nowhere left to say it
  let failed = false;
  process.stdout.on('error', (error) => {
    if (failed || READER_GONE.includes(systemCode(error) ?? '')) return;
    failed = true;
    explain(new UsageError(`cannot write to standard output: ${systemReason(error)}`, undefined, { cause: error }));
    process.once('exit', () => {
      process.exitCode = EXIT.failed;
    });
  });
}
