/** What `wispr timestamp` and `wispr withdraw` do: sign a timestamp, and take it to where readers find it. */
import { nowInSeconds } from '../node-support/clock.ts';
import { readLastPublished } from '../publisher/last-published.ts';
import { type AdoptPlaces, bringTimestamp } from '../publisher/publish/bring-timestamp.ts';
import { checkClock } from '../publisher/publish/clock-check.ts';
import type { KeyServerAccess } from '../publisher/publish/key-server.ts';
import type { LivePublication } from '../publisher/publish/live-publication.ts';
import { currentPlace, type Place, unfinishedOf } from '../publisher/published-places.ts';
import { runTimestamp, type TimestampRun } from '../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { workspaceOf } from '../publisher/workspace.ts';
import { whatToConfirm } from './confirm-choice.ts';
import { isOfEnding, isOutrun } from './confirm-failures.ts';
import { rememberBrought } from './confirm-memory.ts';
import { ConfirmSteps, type Onlooker, stoppedAt } from './confirm-steps.ts';
import { hiddenOrLost, signedButNotTold, unfinishedFirst, withWhatRemains } from './confirm-words.ts';
import { ATTEMPTS, aboutPlaces, adopt, type Confirmed, type ConfirmFlags } from './confirmed.ts';
import { locateConfiguration } from './io/arguments.ts';
import { clocksOf, locatePlaces, type PublicationPlaces } from './publication-places.ts';
import { withdrawEverywhere } from './withdraw-everywhere.ts';

/**
 * Signs in a workspace, and brings what was signed to the target and the key server that its configuration names.
 *
 * @throws UsageError, PublishError, PublicationError, StorageError; PublishError `stopped`, which says what was signed, and where it is
 */
export async function confirmFromWorkspace(
  run: Omit<TimestampRun, 'from'>,
  flags: ConfirmFlags,
  onlooker: Onlooker = {},
): Promise<Confirmed> {
  const { withdraw } = run;
  if (withdraw !== undefined) return withdrawEverywhere({ ...run, withdraw }, flags, onlooker);
  const workspace = workspaceOf(locateConfiguration(undefined, flags.config));
  const place = currentPlace(await readLastPublished(workspace))?.target;
  const places = await locatePlaces(undefined, flags, place);
  const steps = new ConfirmSteps(places, onlooker);
  const giveUp = () => places.target?.close();
  steps.signal?.addEventListener('abort', giveUp, { once: true });
  try {
    const signed = await new Confirming(run, places, steps).confirm();
    const unfinished = unfinishedOf(await readLastPublished(workspace));
    return { ...aboutPlaces(places), signed, keyServerTold: places.token !== undefined, unfinished };
  } catch (error) {
    const telling = places.token === undefined ? undefined : steps;
    throw isOfEnding(error) && steps.signal?.aborted ? stoppedAt([steps], telling, undefined) : error;
  } finally {
    steps.signal?.removeEventListener('abort', giveUp);
    places.target?.close();
  }
}

/** One command: what it is to do, and where. */
class Confirming {
  readonly #run: Omit<TimestampRun, 'from'>;
  readonly #places: PublicationPlaces;
  readonly #steps: ConfirmSteps;
  readonly #keyServer: KeyServerAccess | undefined;

  constructor(run: Omit<TimestampRun, 'from'>, places: PublicationPlaces, steps: ConfirmSteps) {
    const { token, configuration } = places;
    const { signal } = steps;
    this.#run = run;
    this.#places = places;
    this.#steps = steps;
    this.#keyServer = token === undefined ? undefined : { origin: configuration.keyServer, token, signal };
  }

  async confirm(): Promise<SignedTimestamp> {
    const { during, signal } = this.#steps;
    const { target } = this.#places;
    // Not of the target: a host shall keep nobody from confirming.
    const clocks = { ...clocksOf(this.#places), target: undefined, signal };
    await during('asking', () => checkClock(nowInSeconds(), clocks));
    const choice = { places: this.#places, passphrase: this.#run.passphrase, target };
    const { live, last, kept } = await during('looking', () => whatToConfirm(choice));
    return this.#repeated(async () => {
      const to = this.#to(live);
      const silent = await adopt(to);
      const tells = this.#keyServer !== undefined && (silent ?? kept) === undefined;
      const signed = await this.#sign(to, tells).catch((error: unknown) => unfinishedFirst(error, this.#places, last));
      await this.#bring(signed, (silent ?? kept) ? { ...to, keyServer: undefined } : to).catch((error: unknown) => {
        throw withWhatRemains(live ? hiddenOrLost(error, this.#places) : error, silent, this.#places);
      });
      if (kept) throw kept;
      if (silent) throw signedButNotTold(silent, this.#places);
      return signed;
    });
  }

  #to(live: LivePublication | undefined): AdoptPlaces {
    const { workspace, out, target } = this.#places;
    const { during } = this.#steps;
    return { workspace, out, live, mayBeOut: false, target, keyServer: this.#keyServer, now: nowInSeconds(), during };
  }

  async #sign(to: AdoptPlaces, tells: boolean): Promise<SignedTimestamp> {
    this.#steps.checkNotStopped();
    const { configurationFile } = this.#places;
    const bringing = { places: [], keyServer: false, tells };
    const signed = await runTimestamp({ ...this.#run, own: to.live, bringing, from: { configurationFile } });
    this.#steps.signed(to.live === undefined);
    return signed;
  }

  /** Whatever ends it, who has it then is known. */
  async #bring(signed: SignedTimestamp, to: AdoptPlaces): Promise<void> {
    const { workspace, target } = this.#places;
    try {
      await bringTimestamp(to);
    } finally {
      const place: Place | undefined =
        target === undefined ? null : this.#steps.hasDone('bringing') ? target.name : undefined;
      await rememberBrought(workspace, signed, { place, keyServer: this.#steps.hasDone('telling') });
    }
  }

  /** Again, where somebody else was quicker: what is signed then is newer than theirs. */
  async #repeated(once: () => Promise<SignedTimestamp>): Promise<SignedTimestamp> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once();
      } catch (error) {
        if (!isOutrun(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }
}
