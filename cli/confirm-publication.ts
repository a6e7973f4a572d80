/** What `wispr timestamp` and `wispr withdraw` do: sign a timestamp, and take it to where readers find it. */
import { join } from 'node:path';
import { METADATA_PATH } from '../core/publication/names.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import type { StorageError } from '../node-support/storage/errors.ts';
import { PublishError } from '../publisher/errors.ts';
import { readLastPublished } from '../publisher/last-published.ts';
import {
  type AdoptPlaces,
  adoptTimestamp,
  bringTimestamp,
  isBringFailure,
  reworded,
} from '../publisher/publish/bring-timestamp.ts';
import { checkClock } from '../publisher/publish/clock-check.ts';
import { isUnreachable } from '../publisher/publish/key-server.ts';
import { LivePublication } from '../publisher/publish/live-publication.ts';
import { runTimestamp, type TimestampRun } from '../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { clocksOf, locatePlaces, type PublicationPlaces } from './publication-places.ts';

/** Where the timestamp is now, besides the output. */
export interface Confirmed {
  readonly signed: SignedTimestamp;
  /** How messages name the target; `undefined` where there is none. */
  readonly target: string | undefined;
  readonly keyServerTold: boolean;
}

/** How often the key server may be quicker. */
const ATTEMPTS = 5;

/**
 * Signs in a workspace, and brings what was signed to the target and the key server that its configuration names.
 *
 * @throws UsageError, PublishError, PublicationError, StorageError
 */
export async function confirmFromWorkspace(
  run: Omit<TimestampRun, 'from'>,
  flags: { readonly config?: string; readonly tokenFile?: string },
): Promise<Confirmed> {
  const places = await locatePlaces(undefined, flags, { orLast: true });
  try {
    // Not of the target: a host shall keep nobody from withdrawing.
    await checkClock(nowInSeconds(), { ...clocksOf(places), target: undefined });
    return {
      signed: await signAndBring(run, places),
      target: places.target?.name,
      keyServerTold: places.token !== undefined,
    };
  } finally {
    places.target?.close();
  }
}

/** Where the output has gone on, and is not published yet, what is confirmed or withdrawn is what readers have. */
async function signAndBring(run: Omit<TimestampRun, 'from'>, places: PublicationPlaces): Promise<SignedTimestamp> {
  const { out, target, workspace } = places;
  const { publication: last } = await readLastPublished(workspace);
  await using live = target && last && (await LivePublication.of({ out, target, last, now: nowInSeconds() }));
  if (live === undefined) return signIn(out, run, places);
  if (run.withdraw !== undefined && run.withdraw > live.version) throw notPublished(run.withdraw, places);
  return await signIn(live.out, { ...run, directory: join(live.out, METADATA_PATH) }, places); // awaited: it is removed next
}

function notPublished(version: number, { target }: PublicationPlaces): PublishError {
  return new PublishError('version-unknown', `publication ${version} is not at ${target?.name} yet: nobody has it`, {
    typed: true,
    hint: 'put right what is wrong, and run "wispr publish"',
  });
}

async function signIn(
  out: string,
  run: Omit<TimestampRun, 'from'>,
  places: PublicationPlaces,
): Promise<SignedTimestamp> {
  const { configurationFile, configuration, workspace, target, token } = places;
  const keyServer = token === undefined ? undefined : { origin: configuration.keyServer, token };
  const to = { workspace, out, target, keyServer, now: nowInSeconds(), urgent: run.withdraw !== undefined };
  for (let attempt = 1; ; attempt++) {
    const silent = await adopt(to);
    const signed = await runTimestamp({ ...run, from: { configurationFile } });
    try {
      await bringTimestamp(silent ? { ...to, keyServer: undefined } : to);
    } catch (error) {
      if (isOutrun(error) && attempt < ATTEMPTS) continue;
      throw isBringFailure(error) ? signedButNotThere(error) : error;
    }
    if (silent) throw signedButNotTold(silent, places);
    return signed;
  }
}

/** @returns what the key server could not be asked for */
async function adopt(places: AdoptPlaces): Promise<PublishError | undefined> {
  return places.target || places.keyServer ? adoptTimestamp(places) : undefined;
}

/** By the key server, at the target or in what it tells readers itself. */
function isOutrun(error: unknown): boolean {
  const byItsAnswer = isRefusal(error) && /metadata-rollback/.test(error.message);
  return byItsAnswer || (error instanceof PublishError && error.code === 'timestamp-outrun');
}

function isRefusal(error: unknown): error is PublishError {
  return error instanceof PublishError && (error.code === 'key-server-refused' || isUnreachable(error));
}

/** What was signed lies in the output; the next run takes it along. */
function signedButNotThere(error: StorageError | PublishError): Error {
  const again = 'run the same command again';
  const hint = error.hint === undefined ? `${again} when that is mended` : `${error.hint}; then ${again}`;
  const message = `it is signed, but not where the site is served: ${error.message}`;
  return reworded(error, message, error.hint?.includes(again) ? error.hint : hint);
}

function signedButNotTold(cause: PublishError, { target, out }: PublicationPlaces): PublishError {
  const where = target?.name ?? out;
  return new PublishError(cause.code, `it is signed, and at ${where}; but ${cause.message}`, {
    cause,
    hint: 'run the same command again when the key server answers: readers ask it first',
  });
}
