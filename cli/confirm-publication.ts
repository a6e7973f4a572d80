/** What `wispr timestamp` and `wispr withdraw` do: sign a timestamp, and take it to where readers find it. */
import { nowInSeconds } from '../node-support/clock.ts';
import type { StorageError } from '../node-support/storage/errors.ts';
import { PublishError } from '../publisher/errors.ts';
import { openKeyStore } from '../publisher/keys/key-store.ts';
import { readLastPublished } from '../publisher/last-published.ts';
import { explainUnknownSigner } from '../publisher/protect/older-keys.ts';
import {
  type AdoptPlaces,
  adoptTimestamp,
  bringTimestamp,
  isBringFailure,
  isRefusal,
  reworded,
  saidBesides,
} from '../publisher/publish/bring-timestamp.ts';
import { checkClock } from '../publisher/publish/clock-check.ts';
import { LivePublication } from '../publisher/publish/live-publication.ts';
import { runTimestamp, type TimestampRun } from '../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { readKeyStore } from '../publisher/workspace.ts';
import { clocksOf, locatePlaces, type PublicationPlaces } from './publication-places.ts';

/** Where the timestamp is now, besides the output. */
export interface Confirmed {
  readonly signed: SignedTimestamp;
  /** How messages name the target; `undefined` where there is none. */
  readonly target: string | undefined;
  readonly keyServerTold: boolean;
  /** The target that `wispr.json` names, where the site was published to another one last. */
  readonly configured?: string | undefined;
  /** What publishes to where it is, as it is to be typed. */
  readonly publishAgain?: string;
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
  const places = await locatePlaces(undefined, flags, { ofLast: true });
  try {
    // Not of the target: a host shall keep nobody from withdrawing.
    await checkClock(nowInSeconds(), { ...clocksOf(places), target: undefined });
    return {
      signed: await signAndBring(run, places),
      target: places.target?.name,
      keyServerTold: places.token !== undefined,
      configured: places.configured,
      publishAgain: places.publishAgain,
    };
  } finally {
    places.target?.close();
  }
}

/** Where the output has gone on, and is not published yet, what is confirmed or withdrawn is what readers have. */
async function signAndBring(run: Omit<TimestampRun, 'from'>, places: PublicationPlaces): Promise<SignedTimestamp> {
  const { out, target, workspace } = places;
  const { publication: last } = await readLastPublished(workspace);
  if (target === undefined || last === undefined) return signOwn(run, places, undefined);
  const store = async () => openKeyStore(await readKeyStore(workspace), run.passphrase);
  const signer = async () => (await store()).signers.timestamp;
  const urgent = run.withdraw !== undefined;
  const live = await LivePublication.of({ out, target, last, signer, urgent, now: nowInSeconds() }).catch(
    (error: unknown) => explainUnknownSigner(error, out, store),
  );
  if (live && run.withdraw !== undefined && run.withdraw > live.version) throw notPublished(run.withdraw, places);
  return signOwn(run, places, live);
}

function notPublished(version: number, { target, publishAgain }: PublicationPlaces): PublishError {
  return new PublishError('version-unknown', `publication ${version} is not at ${target?.name} yet: nobody has it`, {
    typed: true,
    hint: `put right what is wrong, and run "${publishAgain}"`,
  });
}

async function signOwn(
  run: Omit<TimestampRun, 'from'>,
  places: PublicationPlaces,
  live: LivePublication | undefined,
): Promise<SignedTimestamp> {
  const { configurationFile, configuration, workspace, out, target, token } = places;
  const keyServer = token === undefined ? undefined : { origin: configuration.keyServer, token };
  const to = { workspace, out, live, target, keyServer, now: nowInSeconds(), urgent: run.withdraw !== undefined };
  for (let attempt = 1; ; attempt++) {
    const silent = await adopt(to);
    const signed = await runTimestamp({ ...run, own: live, from: { configurationFile } }).catch((error: unknown) =>
      explain(error, to),
    );
    try {
      await bringTimestamp(silent ? { ...to, keyServer: undefined } : to);
    } catch (error) {
      if (isOutrun(error) && attempt < ATTEMPTS) continue;
      throw withWhatRemains(live ? hiddenOrLost(error, places) : error, silent, places);
    }
    if (silent) throw signedButNotTold(silent, places);
    return signed;
  }
}

/** @returns what the key server could not be asked for */
async function adopt(places: AdoptPlaces): Promise<PublishError | undefined> {
  return places.target || places.keyServer ? adoptTimestamp(places) : undefined;
}

/** A number that is not known here may have been made elsewhere: the target may know it. */
async function explain(error: unknown, places: AdoptPlaces): Promise<never> {
  if (!(error instanceof PublishError && error.code === 'version-unknown')) throw error;
  const newer = await adopt({ ...places, urgent: false }).catch((claim: unknown) => claim);
  if (!(newer instanceof PublishError && newer.code === 'target-newer')) throw error;
  throw new PublishError('version-unknown', `${error.message}; ${newer.message}`, {
    typed: true,
    hint: `withdraw it where it was made; else ${newer.hint}`,
  });
}

/** By the key server, at the target or in what it tells readers itself. */
function isOutrun(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const byItsAnswer = isRefusal(error) && /metadata-rollback/.test(error.message);
  return byItsAnswer || (error instanceof PublishError && error.code === 'timestamp-outrun') || isOutrun(error.cause);
}

/** It was there: what a host has lost, only another publication puts right. */
function hiddenOrLost(error: unknown, { publishAgain }: PublicationPlaces): unknown {
  if (!(error instanceof PublishError && error.code === 'target-behind')) return error;
  const hint = `the host has lost what was published, or hides it: "${publishAgain}" puts there what is in "out" by now`;
  return reworded(error, error.message, hint);
}

function withWhatRemains(error: unknown, silent: PublishError | undefined, places: PublicationPlaces): unknown {
  if (isBringFailure(error)) return signedButNotThere(silent ? saidBesides(error, silent) : error);
  return isRefusal(error) ? signedButNotTold(error, places) : error;
}

/** The next run signs it again, and takes it along. */
function signedButNotThere(error: StorageError | PublishError): Error {
  return reworded(error, `it is signed, but not where the site is served: ${error.message}`, thenAgain(error.hint));
}

function signedButNotTold(cause: PublishError, { target, out }: PublicationPlaces): PublishError {
  const where = target?.name ?? out;
  return new PublishError(cause.code, `it is signed, and at ${where}; but ${cause.message}`, {
    cause,
    hint: `${thenAgain(cause.hint)}; readers ask the key server first`,
  });
}

/** What is said about it once is enough; and there is no other place to name here. */
function thenAgain(hint: string | undefined): string {
  const again = 'run the same command again';
  if (hint === undefined) return `${again} when that is mended`;
  const said = hint.replace(', or name another directory', '');
  return said.includes(again) ? said : `${said}; then ${again}`;
}
