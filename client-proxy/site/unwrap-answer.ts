/** What a key answer gives the reader: set keys that passed every check, and why the others did not come. */
import { KeyError } from '../../core/keys/errors.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import type { KeyAnswer, RefusalReason } from '../../core/keys/key-request.ts';
import { type NamedKey, unwrapKey, type WrappedKey } from '../../core/keys/wrapped-key.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { ReaderError } from '../errors.ts';
import { clockOff } from './key-server.ts';

/** By key id: a key, or the error that stands in its place. */
export type KeyResults = ReadonlyMap<KeyId, SetKey | Error>;

/**
 * Takes an answer apart. Only keys that were asked for count; one that fails a check is dropped, and no copy of it is kept.
 *
 * @param now - seconds since 1970
 */
export async function unwrapAnswer(
  answer: KeyAnswer,
  asked: readonly KeyId[],
  deviceKey: NamedKey,
  keyServer: string,
  now: number,
): Promise<KeyResults> {
  const results = new Map<KeyId, SetKey | Error>();
  for (const id of asked) {
    const wrapped = answer.keys.find((key) => key.id === id && key.kind === 'set');
    const reason = answer.refused.find((refusal) => refusal.id === id)?.reason ?? 'not-entitled';
    results.set(id, wrapped ? await unwrap(wrapped, deviceKey, now) : refusal(reason, keyServer, answer.time));
  }
  return results;
}

async function unwrap(wrapped: WrappedKey, deviceKey: NamedKey, now: number): Promise<SetKey | Error> {
  const { notBefore, notAfter } = wrapped;
  try {
    return { key: await unwrapKey(deviceKey, wrapped, now), notBefore, notAfter };
  } catch (error) {
    if (error instanceof KeyError && error.code === 'key-not-valid-now') return notValidNow(wrapped, error);
    return error as Error;
  }
}

/** The times are authenticated: this is found out only after the tag has passed. */
function notValidNow({ notBefore, notAfter }: WrappedKey, cause: Error): ObjectError {
  const [from, until] = [notBefore, notAfter].map((time) => new Date(time * 1000).toISOString());
  return new ObjectError('key-not-valid-now', `the key of this set is valid from ${from} until ${until}`, { cause });
}

function refusal(reason: RefusalReason, keyServer: string, theirTime: number): ReaderError {
  switch (reason) {
    case 'lapsed':
      return new ReaderError('lapsed', 'your subscription does not cover this document any more');
    case 'revoked':
      return new ReaderError('revoked', 'this device was disconnected by the publisher');
    case 'stale-request':
      return clockOff(keyServer, theirTime);
    case 'replayed-request':
      return new ReaderError('key-server-answer', `${keyServer} says that it has seen this request before`);
    case 'not-entitled':
      return new ReaderError('not-entitled', 'your subscription does not include this document');
  }
}
