/** What `wispr timestamp` and `wispr withdraw` do: sign a timestamp, and take it to where readers find it. */
import { nowInSeconds } from '../node-support/clock.ts';
import { StorageError } from '../node-support/storage/errors.ts';
import type { Target } from '../node-support/storage/target.ts';
import { PublishError } from '../publisher/errors.ts';
import { placesOf, readLastPublished } from '../publisher/last-published.ts';
import { isBringFailure, isRefusal } from '../publisher/publish/bring-failures.ts';
import {
  type AdoptPlaces,
  adoptTimestamp,
  bringTimestamp,
  type Found,
  lookAround,
} from '../publisher/publish/bring-timestamp.ts';
import { bringUrgently } from '../publisher/publish/bring-urgently.ts';
import type { ToWithdraw } from '../publisher/publish/choose-publication.ts';
import { checkClock, clockDoubt } from '../publisher/publish/clock-check.ts';
import type { KeyServerAccess } from '../publisher/publish/key-server.ts';
import type { LivePublication } from '../publisher/publish/live-publication.ts';
import { answeringUntil } from '../publisher/publish/looking.ts';
import { runTimestamp, type TimestampRun } from '../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { workspaceOf } from '../publisher/workspace.ts';
import { type Choice, whatToConfirm, whatToWithdraw } from './confirm-choice.ts';
import { rememberBrought } from './confirm-memory.ts';
import { ConfirmSteps, type Onlooker } from './confirm-steps.ts';
import {
  hiddenOrLost,
  maybeInstead,
  maybeOut,
  signedButNotTold,
  unfinishedFirst,
  unseen,
  urgentlyBusy,
  withWhatRemains,
} from './confirm-words.ts';
import { locateConfiguration } from './locate-configuration.ts';
import { clocksOf, locatePlaces, type PublicationPlaces } from './publication-places.ts';
import { type Place, withdrawEverywhere } from './withdraw-everywhere.ts';

/** Where the timestamp is now, besides the output. */
export interface Confirmed {
  readonly signed: SignedTimestamp;
  /** How messages name the target; `undefined` where there is none. */
  readonly target: string | undefined;
  readonly keyServerTold: boolean;
  /** Further targets that have it now. */
  readonly besides?: readonly string[];
  /** Whether a key server confirms the site, where its configuration says that. */
  readonly isConfirmedByKeyServer?: boolean;
  /** The target that `wispr.json` names, where the site was published to another one last. */
  readonly configured?: string | undefined;
  /** What publishes to where it is, as it is to be typed. */
  readonly publishAgain?: string;
}

interface Flags {
  readonly config?: string;
  readonly tokenFile?: string;
}

/** How often somebody else may be quicker. */
const ATTEMPTS = 5;

/**
 * Signs in a workspace, and brings what was signed to the target and the key server that its configuration names.
 *
 * @throws UsageError, PublishError, PublicationError, StorageError; PublishError `stopped`, which says what was signed, and where it is
 */
export async function confirmFromWorkspace(
  run: Omit<TimestampRun, 'from'>,
  flags: Flags,
  onlooker: Onlooker = {},
): Promise<Confirmed> {
  const workspace = workspaceOf(locateConfiguration(undefined, flags.config));
  const [first, ...others] = placesOf(await readLastPublished(workspace), run.withdraw);
  if (run.withdraw === undefined || others.length === 0) return confirmAt(first, run, flags, onlooker);
  return withdrawEverywhere([first, ...others], run.withdraw, workspace, (name) =>
    confirmAt(name, run, flags, onlooker),
  );
}

async function confirmAt(
  name: Place,
  run: Omit<TimestampRun, 'from'>,
  flags: Flags,
  onlooker: Onlooker,
): Promise<Confirmed> {
  const places = await locatePlaces(undefined, flags, name);
  const steps = new ConfirmSteps(places, onlooker);
  const giveUp = () => places.target?.close();
  steps.signal?.addEventListener('abort', giveUp, { once: true });
  try {
    const confirming = new Confirming(run, places, steps);
    const signed = await (run.withdraw === undefined ? confirming.confirm() : confirming.withdraw(run.withdraw));
    return {
      signed,
      target: places.target?.name,
      keyServerTold: places.token !== undefined,
      isConfirmedByKeyServer: places.configuration.timestampBy === 'keyserver',
      configured: places.configured,
      publishAgain: places.publishAgain,
    };
  } catch (error) {
    throw isOfEnding(error) && steps.signal?.aborted ? steps.stopped(run.withdraw) : urgentlyBusy(error, run.withdraw);
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
    // Not of the target: a host shall keep nobody from confirming.
    const clocks = { ...clocksOf(this.#places), target: undefined, signal };
    await during('asking', () => checkClock(nowInSeconds(), clocks));
    const { live, last } = await during('looking', () =>
      whatToConfirm(this.#choice(this.#places.target, this.#keyServer)),
    );
    return this.#repeated(async () => {
      const to = this.#to({ live, mayBeOut: false });
      const silent = await adopt(to);
      const signed = await this.#sign(to).catch((error: unknown) => unfinishedFirst(error, this.#places, last));
      const bring = () => bringTimestamp(silent ? { ...to, keyServer: undefined } : to);
      await this.#bringing(live, silent, bring);
      if (silent) throw signedButNotTold(silent, this.#places);
      return signed;
    });
  }

  /** Nobody is waited for who need not be. */
  async withdraw(version: number): Promise<SignedTimestamp> {
    return this.#repeated(async () => {
      const { chosen, found, ...first } = await this.#signInTime(version);
      let { signed } = first;
      const { live } = chosen;
      const to = this.#to(chosen);
      const renew = async () => {
        this.#steps.checkNotStopped();
        await adopt({ ...to, target: undefined });
        signed = await this.#sign(to);
      };
      await this.#bringing(live, undefined, () => bringUrgently({ ...to, ...found, renew }));
      return signed;
    });
  }

  /** What the target and the key server have is looked at for a short time; only what cannot be signed without it waits for it. */
  async #signInTime(version: number): Promise<Signed> {
    const { limits, signal } = this.#steps;
    const end = AbortSignal.timeout(limits.looking);
    const doubt = clockDoubt(nowInSeconds(), { ...clocksOf(this.#places), signal: anyOf(signal, end) });
    const say = async () => {
      const said = await doubt;
      if (said !== undefined) this.#steps.doubt(said);
    };
    try {
      return await this.#lookAndSign(version, end, say);
    } catch (error) {
      if (!end.aborted || signal?.aborted || !needsAnother(error)) throw error;
      return this.#lookAndSign(version, undefined, say);
    }
  }

  /** @param end - of looking. @param beforeSigning - what has to be said by then */
  async #lookAndSign(
    version: number,
    end: AbortSignal | undefined,
    beforeSigning: () => Promise<void>,
  ): Promise<Signed> {
    const { target } = this.#places;
    const { during, signal } = this.#steps;
    const looking = target && end ? answeringUntil(target, end) : target;
    const keyServer = this.#keyServer && { ...this.#keyServer, signal: anyOf(signal, end) };
    const chosen = await during('looking', () => whatToWithdraw(version, this.#choice(looking, keyServer)));
    const to = { ...this.#to(chosen), target: looking, keyServer };
    const found = looking || keyServer ? await lookAround(to) : NOBODY_ELSE;
    const isPublished = found.isPublished || chosen.isBegun; // all but its timestamp is there: who hears of it first loses nothing
    await beforeSigning();
    if (end?.aborted && found.failure instanceof StorageError) this.#steps.doubt(unseen(found.failure));
    if (chosen.mayBeOut && !chosen.isSeen) this.#steps.doubt(maybeOut(version, this.#places));
    if (chosen.maybeLater !== undefined) this.#steps.doubt(maybeInstead(chosen.maybeLater, this.#places));
    return { chosen, found: { ...found, isPublished }, signed: await this.#sign(to) };
  }

  #choice(target: Target | undefined, keyServer: KeyServerAccess | undefined): Choice {
    return { places: this.#places, passphrase: this.#run.passphrase, target, keyServer, steps: this.#steps };
  }

  #to({ live, mayBeOut }: Pick<ToWithdraw, 'live' | 'mayBeOut'>): AdoptPlaces {
    const { workspace, out, target } = this.#places;
    const urgent = this.#run.withdraw !== undefined;
    const { during } = this.#steps;
    const keyServer = this.#keyServer;
    return { workspace, out, live, mayBeOut, target, keyServer, now: nowInSeconds(), urgent, during };
  }

  async #sign(to: AdoptPlaces): Promise<SignedTimestamp> {
    this.#steps.checkNotStopped();
    const { configurationFile } = this.#places;
    const isToBeBrought = to.target !== undefined || to.keyServer !== undefined;
    const run = { ...this.#run, own: to.live, isToBeBrought, from: { configurationFile } };
    const signed = await runTimestamp(run).catch((error: unknown) => explain(error, to));
    this.#steps.signed(to.live === undefined);
    return signed;
  }

  async #bringing(live: LivePublication | undefined, silent: PublishError | undefined, bring: () => Promise<void>) {
    try {
      await bring();
    } catch (error) {
      throw withWhatRemains(live ? hiddenOrLost(error, this.#places) : error, silent, this.#places);
    }
  }

  /** Again, where somebody else was quicker: what is signed then is newer than theirs. */
  async #repeated(once: () => Promise<SignedTimestamp>): Promise<SignedTimestamp> {
    for (let attempt = 1; ; attempt++) {
      try {
        const signed = await once();
        await rememberBrought(this.#places, signed, this.#run);
        return signed;
      } catch (error) {
        if (!isOutrun(error, this.#run) || attempt === ATTEMPTS) throw error;
      }
    }
  }
}

interface Signed {
  readonly chosen: ToWithdraw;
  readonly found: Found;
  readonly signed: SignedTimestamp;
}

/** Where nobody else is to have it. */
const NOBODY_ELSE: Found = { silent: undefined, failure: undefined, isPublished: true };

/** What a signal ends by giving up whatever is waited for. */
function isOfEnding(error: unknown): boolean {
  if (isBringFailure(error) || isRefusal(error)) return true;
  return error instanceof PublishError && ['stopped', 'version-unknown'].includes(error.code);
}

/** Where what is here is not enough to sign, or to say that a number is none. */
function needsAnother(error: unknown): boolean {
  if (error instanceof StorageError) return true;
  return error instanceof PublishError && ['target-behind', 'version-unknown'].includes(error.code);
}

function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
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

/** By the key server, at the target or in what it tells readers itself; where it is urgent, that was tried again already. */
function isOutrun(error: unknown, run: Pick<TimestampRun, 'withdraw'>): boolean {
  if (!(error instanceof Error)) return false;
  const byItsAnswer = run.withdraw === undefined && isRefusal(error) && /metadata-rollback/.test(error.message);
  const byOthers = error instanceof PublishError && error.code === 'timestamp-outrun';
  return byItsAnswer || byOthers || isOutrun(error.cause, run);
}
