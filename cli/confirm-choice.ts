/** What `wispr timestamp` and `wispr withdraw` are about: where the output has gone on, and is not published yet, it is what readers have. */
import { nowInSeconds } from '../node-support/clock.ts';
import type { Target } from '../node-support/storage/target.ts';
import { openKeyStore } from '../publisher/keys/key-store.ts';
import { knownAt, readLastPublished } from '../publisher/last-published.ts';
import { explainUnknownSigner } from '../publisher/protect/older-keys.ts';
import { isConfirmedBy, openOwn } from '../publisher/publish/bring-timestamp.ts';
import {
  type ChoicePlaces,
  chooseToConfirm,
  chooseToWithdraw,
  NotOut,
  type ToConfirm,
  type ToWithdraw,
} from '../publisher/publish/choose-publication.ts';
import type { KeyServerAccess } from '../publisher/publish/key-server.ts';
import type { LivePublication } from '../publisher/publish/live-publication.ts';
import { readKeyStore } from '../publisher/workspace.ts';
import { keepFromReaders } from './confirm-memory.ts';
import type { ConfirmSteps } from './confirm-steps.ts';
import { checkFinished } from './confirm-words.ts';
import type { PublicationPlaces } from './publication-places.ts';

/** Who decides, and what is known. */
export interface Choice {
  readonly places: PublicationPlaces;
  readonly passphrase: string;
  /** What is looked at, and who is asked: perhaps not for long. */
  readonly target: Target | undefined;
  readonly keyServer: KeyServerAccess | undefined;
  readonly steps: Pick<ConfirmSteps, 'signal' | 'during'>;
}

const AS_IT_LIES = { live: undefined, last: undefined, mayBeOut: false, isBegun: false, isSeen: true };

/** @throws PublicationError `publication-withdrawn` where something later is; what `chooseToConfirm` throws */
export async function whatToConfirm(choice: Choice): Promise<ToConfirm> {
  const { target, places } = choice;
  if (target === undefined) return AS_IT_LIES;
  const remembered = knownAt(await readLastPublished(places.workspace), target.name);
  const chosen = await choosing(choice, (own) => chooseToConfirm(remembered, { ...own, target, urgent: false }));
  checkFinished(remembered, chosen.last);
  return chosen;
}

/** @throws what `chooseToWithdraw` throws */
export async function whatToWithdraw(version: number, choice: Choice): Promise<ToWithdraw> {
  const { target, places, steps } = choice;
  const { workspace, publishAgain } = places;
  if (target === undefined) return AS_IT_LIES;
  const remembered = knownAt(await readLastPublished(workspace), target.name);
  const isUnfinished = remembered.unfinished.includes(version);
  const more = { target, urgent: true, publishAgain, isConfirmed: askingOf(choice, isUnfinished) };
  try {
    return await choosing(choice, (own) => chooseToWithdraw(version, remembered, { ...own, ...more }));
  } catch (error) {
    if (error instanceof NotOut && !steps.signal?.aborted) await keepFromReaders(workspace, version, error);
    throw error;
  }
}

/**
 * Without a token it is asked only where an earlier run may have told it.
 *
 * @returns asks the key server whether it confirms a publication; `undefined` where it does not answer
 */
function askingOf({ places: { out, configuration }, keyServer, steps }: Choice, isUnfinished: boolean) {
  const asked = keyServer ?? (isUnfinished ? { origin: configuration.keyServer, signal: steps.signal } : undefined);
  return async (live: LivePublication | undefined): Promise<boolean | undefined> => {
    if (asked === undefined) return false;
    const publication = await openOwn({ out, live, now: nowInSeconds() });
    return steps.during('asking', () => isConfirmedBy(asked, publication));
  };
}

async function choosing<Chosen>(
  { places: { out, workspace }, passphrase }: Choice,
  choose: (places: Pick<ChoicePlaces, 'out' | 'signer' | 'now'>) => Promise<Chosen>,
): Promise<Chosen> {
  const store = async () => openKeyStore(await readKeyStore(workspace), passphrase);
  const signer = async () => (await store()).signers.timestamp;
  return choose({ out, signer, now: nowInSeconds() }).catch((error: unknown) =>
    explainUnknownSigner(error, out, store),
  );
}
