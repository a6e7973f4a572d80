/** What a key server tells readers, as far as it is known here: no answer, and one that proves nothing, is not a no. */
import type { MetaFile, RootMetadata } from '../../core/publication/metadata.ts';
import { verifyTimestamp } from '../../core/publication/verify-roles.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { rootsOf, underAny } from '../publication/roots.ts';
import { attempt } from './bring-failures.ts';
import { fetchTimestamp, isUnreachable, type KeyServerQuestion } from './key-server.ts';

/** A snapshot of ours; `none`: it has no publication; `unknown`: it does not say. */
export type KeyServerSays = MetaFile | 'none' | 'unknown';

/** @param publication - of ours, which has the roots: any of its keys may have signed what the key server has */
export async function whatKeyServerSays(
  keyServer: KeyServerQuestion,
  publication: OpenedPublication,
): Promise<KeyServerSays> {
  const { value, failure } = await attempt(() => fetchTimestamp(keyServer), isUnreachable);
  if (failure) return 'unknown';
  if (value === undefined) return 'none';
  const verify = (root: RootMetadata) => verifyTimestamp(value, root, undefined, READER_OPTIONS);
  return (await underAny(await rootsOf(publication), verify))?.snapshot ?? 'unknown';
}

/** It refuses a publication because it knows a later one: to ask it once more is of no use. */
export class KnowsLater extends PublishError {
  constructor(refusal: PublishError, { version }: MetaFile, told: number) {
    super(refusal.code, `${refusal.message}: it has publication ${version} of this site, which is later than ${told}`, {
      cause: refusal,
      hint: 'what it is told next has to be a later one: "wispr publish" with its token; where another machine has published that, withdraw it there',
    });
  }
}

/** Whether it says that somebody else was quicker, or that it has something later. */
export function isRollback(refusal: PublishError): boolean {
  return /metadata-rollback/.test(refusal.message);
}
