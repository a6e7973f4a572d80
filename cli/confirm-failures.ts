/** What ends `wispr timestamp` and `wispr withdraw`, or has them begin once more. */
import { StorageError } from '../node-support/storage/errors.ts';
import { PublishError } from '../publisher/errors.ts';
import { isBringFailure, isRefusal } from '../publisher/publish/bring-failures.ts';
import { isRollback, KnowsLater } from '../publisher/publish/key-server-says.ts';

/** What a signal ends by giving up whatever is waited for. */
export function isOfEnding(error: unknown): boolean {
  if (isBringFailure(error) || isRefusal(error)) return true;
  return error instanceof PublishError && ['stopped', 'version-unknown'].includes(error.code);
}

/** Where what is here is not enough to sign, or to say that a number is none. */
export function needsAnother(error: unknown): boolean {
  if (error instanceof StorageError) return true;
  return error instanceof PublishError && ['target-behind', 'version-unknown'].includes(error.code);
}

/** By the key server, at the target or in what it tells readers itself. */
export function isOutrun(error: unknown): boolean {
  if (isOfLater(error) || !(error instanceof Error)) return false;
  const byItsAnswer = isRefusal(error) && isRollback(error);
  return byItsAnswer || isOutrunByOthers(error) || isOutrun(error.cause);
}

/** Whatever words it is in by now: to be told again changes nothing. */
function isOfLater(error: unknown): boolean {
  return error instanceof KnowsLater || (error instanceof Error && isOfLater(error.cause));
}

/** At the target. */
export function isOutrunByOthers(error: unknown): boolean {
  return error instanceof PublishError && error.code === 'timestamp-outrun';
}
