/** What may go wrong on the way to target and key server, whose fault it is, and how it is said. */
import { PublicationError } from '../../core/publication/errors.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { PublishError } from '../errors.ts';
import { isUnreachable } from './key-server.ts';

/** What is wrong at the target, and what became of the key server. */
export function alsoAt(failure: StorageError | PublishError, refusal: PublishError | undefined): Error {
  if (refusal === undefined) return reworded(failure, `${failure.message}; the key server was told`);
  return saidBesides(failure, refusal);
}

/** Two things are wrong; neither hides the other. */
export function saidBesides(failure: StorageError | PublishError, besides: PublishError): StorageError | PublishError {
  const hints = [failure.hint, besides.hint].filter((hint) => hint !== undefined);
  return reworded(failure, `${failure.message}; and ${besides.message}`, hints.join('; and ') || undefined, besides);
}

/** What a target, whose state nobody answers for, is to blame for; that somebody else has published is none of it. */
export function isTargetFailure(error: unknown): error is StorageError | PublishError {
  if (error instanceof StorageError) return true;
  return error instanceof PublishError && ['target-foreign', 'target-behind', 'target-reverted'].includes(error.code);
}

/** And what is claimed there: by somebody who has published or confirmed as well, or who stole a timestamp key. */
export function isBringFailure(error: unknown): error is StorageError | PublishError {
  return isTargetFailure(error) || isClaim(error);
}

function isClaim(error: unknown): boolean {
  const claims = ['target-newer', 'target-forked', 'timestamp-outrun'];
  return error instanceof PublishError && claims.includes(error.code);
}

/** What a key server is to blame for. */
export function isRefusal(error: unknown): error is PublishError {
  return error instanceof PublishError && (error.code === 'key-server-refused' || isUnreachable(error));
}

type Rewordable = StorageError | PublishError | PublicationError;

export function canBeReworded(error: unknown): error is Rewordable {
  return error instanceof StorageError || error instanceof PublishError || error instanceof PublicationError;
}

/** The same failure in other words. @param because - what it came from, if not from that */
export function reworded<Failure extends Rewordable>(
  cause: Failure,
  message: string,
  hint = cause.hint,
  because: Error = cause,
): Failure {
  const options = { cause: because, ...(hint !== undefined && { hint }) };
  const copy = () => {
    if (cause instanceof StorageError) return new StorageError(cause.code, message, options);
    if (cause instanceof PublicationError) return new PublicationError(cause.code, message, options);
    return new PublishError(cause.code, message, options);
  };
  return copy() as Failure;
}

export function isBehind(failure: StorageError | PublishError | undefined): boolean {
  return failure?.code === 'target-behind';
}

/** Does something that may fail in some ways. */
export async function attempt<Value, Failure>(
  work: () => Promise<Value>,
  mayFail: (error: unknown) => error is Failure,
): Promise<{ readonly value?: Value; readonly failure?: Failure }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (mayFail(error)) return { failure: error };
    throw error;
  }
}
