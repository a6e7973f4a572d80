/** What `wispr timestamp` and `wispr withdraw` are about: where the output has gone on, and is not published yet, it is what readers have. */
import type { PublicationError } from '../core/publication/errors.ts';
import type { MetaFile } from '../core/publication/metadata.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import type { Target } from '../node-support/storage/target.ts';
import { openKeyStore } from '../publisher/keys/key-store.ts';
import { readLastPublished } from '../publisher/last-published.ts';
import { explainUnknownSigner } from '../publisher/protect/older-keys.ts';
import {
  type ChoicePlaces,
  type Chosen,
  chooseToConfirm,
  chooseToTell,
  chooseToWithdraw,
  type ToConfirm,
  type ToWithdraw,
} from '../publisher/publish/choose-publication.ts';
import { type LastPublished, placeOf } from '../publisher/published-places.ts';
import { readKeyStore } from '../publisher/workspace.ts';
import { checkFinished, laterAtKeyServer } from './confirm-words.ts';
import type { PublicationPlaces } from './publication-places.ts';

/** Who decides, and what is known. */
export interface Choice {
  readonly places: PublicationPlaces;
  readonly passphrase: string;
  /** What is looked at: perhaps not for long. */
  readonly target: Target | undefined;
}

const AS_IT_LIES = {
  live: undefined,
  last: undefined,
  mayBeOut: false,
  isBegun: false,
  isSeen: true,
  snapshot: undefined,
};

/** @throws PublicationError `publication-withdrawn` where something later is; what `chooseToConfirm` throws */
export async function whatToConfirm(
  choice: Choice,
): Promise<ToConfirm & { readonly kept?: PublicationError | undefined }> {
  const { target, places } = choice;
  if (target === undefined) return AS_IT_LIES;
  const remembered = await readLastPublished(places.workspace);
  const place = placeOf(remembered, target.name);
  const chosen = await choosing(choice, (own) => chooseToConfirm(place, { ...own, target, urgent: false }));
  checkFinished(remembered, target.name, chosen.last);
  const kept = places.token === undefined ? undefined : laterAtKeyServer(remembered, target.name, chosen.last);
  return { ...chosen, kept };
}

/** @throws what `chooseToWithdraw` throws */
export async function whatToWithdraw(version: number, remembered: LastPublished, choice: Choice): Promise<Chosen> {
  const { target } = choice;
  if (target === undefined) return { sign: AS_IT_LIES };
  const [place, { highest }] = [placeOf(remembered, target.name), remembered];
  return choosing(choice, (own) => chooseToWithdraw(version, place, { ...own, target, urgent: true, highest }));
}

/** @throws what `chooseToTell` throws */
export function whatToTell(
  { version, sha256 = '' }: MetaFile,
  { places }: LastPublished,
  choice: Choice,
): Promise<ToWithdraw> {
  const known = places.flatMap(({ publication, begun }) => [...(publication ? [publication] : []), ...begun]);
  const last = known.find((one) => one.sha256 === sha256) ?? { version, sha256, timestamp: nowInSeconds() };
  return choosing(choice, (own) => chooseToTell(last, { ...own, target: choice.target, urgent: true }));
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
