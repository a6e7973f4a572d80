/**
 * `wispr withdraw` at one place: what is there is looked at, a timestamp signed for it, and brought. A key server that sends readers to what no
 * place can be asked for is one more.
 */
import type { MetaFile } from '../core/publication/metadata.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { StorageError } from '../node-support/storage/errors.ts';
import type { Target } from '../node-support/storage/target.ts';
import { PublishError } from '../publisher/errors.ts';
import { openOutput } from '../publisher/publication/own.ts';
import { type AdoptPlaces, type Found, lookAround } from '../publisher/publish/bring-timestamp.ts';
import { type Brought, bringToBoth, failureOf } from '../publisher/publish/bring-urgently.ts';
import type { Chosen, ToWithdraw } from '../publisher/publish/choose-publication.ts';
import { clockDoubt } from '../publisher/publish/clock-check.ts';
import type { KeyServerAccess } from '../publisher/publish/key-server.ts';
import { lookingUntil } from '../publisher/publish/looking.ts';
import type { LastPublished, Place } from '../publisher/published-places.ts';
import { type Bringing, runTimestamp, type TimestampRun } from '../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { whatToTell, whatToWithdraw } from './confirm-choice.ts';
import { isOutrunByOthers } from './confirm-failures.ts';
import { rememberBrought } from './confirm-memory.ts';
import type { ConfirmSteps } from './confirm-steps.ts';
import { hiddenOrLost, maybeInstead, maybeOut, unseen, urgentlyBusy, withWhatRemains } from './confirm-words.ts';
import { ATTEMPTS, adopt } from './confirmed.ts';
import { clocksOf, type PublicationPlaces } from './publication-places.ts';

/** What all places of a command have in common. */
export interface Together {
  readonly run: Omit<TimestampRun, 'from'> & { readonly withdraw: number };
  /** When the command began. */
  readonly remembered: LastPublished;
  /** Who is asked once, and told once; `undefined` without a token. */
  readonly keyServer: KeyServerAccess | undefined;
  /** Whether there is no other place. */
  readonly isOne: boolean;
  /** Does one after the other what takes the lock. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** Where nobody else is to have it. */
const NOBODY_ELSE: Found = { silent: undefined, failure: undefined, isPublished: true };

export class WithdrawAt {
  readonly places: PublicationPlaces;
  readonly steps: ConfirmSteps;
  /** By which it is remembered; `undefined`: the key server alone is told. */
  readonly place: Place | undefined;
  /** What is signed there, once that is known. */
  chosen: ToWithdraw | undefined;
  signed: SignedTimestamp | undefined;
  /** Whether it has it now. */
  hasIt = false;
  /** Why not; also why the key server does not, where that was told here. */
  error: unknown;
  /** What became of it. */
  brought: Brought | undefined;
  readonly #together: Together;
  readonly #asksClocks: boolean;
  #found: Found = NOBODY_ELSE;

  /** @param asksClocks - of the key server, which one place does for all */
  constructor(
    place: Place | undefined,
    places: PublicationPlaces,
    steps: ConfirmSteps,
    together: Together,
    asksClocks: boolean,
  ) {
    this.place = place;
    this.places = places;
    this.steps = steps;
    this.#together = together;
    this.#asksClocks = asksClocks;
  }

  get owing(): readonly Place[] {
    return this.place === undefined ? [] : [this.place];
  }

  /** Whether no place is to have it, and the key server does. */
  get isOnlyTold(): boolean {
    return this.place === undefined && this.brought?.isTold === true;
  }

  /** Whether it is known what is to be signed, and that was not tried yet. */
  get isWaiting(): boolean {
    return this.chosen !== undefined && this.signed === undefined && this.error === undefined;
  }

  /** What is there. @param end - of looking; without it, as long as it takes */
  async look(end: AbortSignal | undefined): Promise<Chosen> {
    const { during, signal } = this.steps;
    const { run, remembered } = this.#together;
    const doubt = clockDoubt(nowInSeconds(), {
      keyServer: this.#asksClocks ? clocksOf(this.places).keyServer : undefined,
      signal: anyOf(signal, end),
    });
    const inTarget = (target: Target | undefined) => {
      const choice = { places: this.places, passphrase: run.passphrase, target };
      return during('looking', () => whatToWithdraw(run.withdraw, remembered, choice));
    };
    const chosen = (await this.#inOutput()) ?? (await lookingUntil(this.places.target, end, inTarget));
    if ('sign' in chosen) await this.take(chosen.sign, end);
    const said = await doubt;
    if (said !== undefined) this.steps.doubt(said);
    return chosen;
  }

  /** What a key server has, if that is to be signed here, whatever the place shows. @param end - of looking */
  chooseToTell(has: MetaFile, end: AbortSignal): Promise<ToWithdraw> {
    const { run, remembered } = this.#together;
    const choose = (target: Target | undefined) =>
      whatToTell(has, remembered, { places: this.places, passphrase: run.passphrase, target });
    return lookingUntil(this.#target, end, choose);
  }

  get #target(): Target | undefined {
    return this.place === undefined ? undefined : this.places.target;
  }

  /** The output shows what lies in it, and nothing else: what is above that is not there, though it may have been, if it was ever made. */
  async #inOutput(): Promise<Chosen | undefined> {
    const { run, isOne, remembered } = this.#together;
    const wasNeverMade = isOne && run.withdraw > remembered.highest;
    if (this.places.target !== undefined || wasNeverMade) return undefined;
    const shown = (await openOutput(this.places.out, { now: nowInSeconds() })).state.snapshot.version;
    return shown < run.withdraw ? { notShown: { shown, begun: undefined } } : undefined;
  }

  /** It is to be signed there. @param end - of looking, as in {@link look} */
  async take(chosen: ToWithdraw, end: AbortSignal | undefined): Promise<void> {
    const to = this.#to(chosen, this.#together.keyServer);
    const lookFrom = (target: Target | undefined) => lookAround({ ...to, target });
    const found = to.target || to.keyServer ? await lookingUntil(to.target, end, lookFrom) : NOBODY_ELSE;
    const isPublished = found.isPublished || chosen.isBegun; // all but its timestamp is there: who hears of it first loses nothing
    this.#found = { ...found, isPublished };
    this.chosen = chosen;
    if (end?.aborted && found.failure instanceof StorageError) this.steps.doubt(unseen(found.failure));
  }

  /** @param given - the very timestamp, where it was signed already: for what is in the output. */
  async sign(bringing: Bringing, given?: SignedTimestamp): Promise<SignedTimestamp> {
    const { chosen } = this;
    const { withdraw } = this.#together.run;
    if (chosen === undefined) throw new Error('nothing was chosen');
    if (chosen.mayBeOut && !chosen.isSeen) this.steps.doubt(maybeOut(withdraw, this.places));
    if (chosen.maybeLater !== undefined) this.steps.doubt(maybeInstead(chosen.maybeLater, this.places));
    if (given === undefined) return this.#signAnew(chosen, bringing);
    this.steps.signed(true);
    this.signed = given;
    return given;
  }

  async #signAnew(chosen: ToWithdraw, bringing: Bringing): Promise<SignedTimestamp> {
    this.steps.checkNotStopped();
    const { run, inTurn } = this.#together;
    const { configurationFile } = this.places;
    const signing = { ...run, own: chosen.live, snapshot: chosen.snapshot, bringing, from: { configurationFile } };
    const signed = await inTurn(() => runTimestamp(signing)).catch((error: unknown) =>
      this.#explain(error, this.#to(chosen, this.#together.keyServer)),
    );
    this.steps.signed(chosen.live === undefined);
    this.signed = signed;
    return signed;
  }

  /** Takes it to the target, and to the key server, if that is told here; again, where somebody else was quicker. */
  async bring(keyServer: KeyServerAccess | undefined): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await this.#bringOnce(keyServer);
      if (!isOutrunByOthers(this.brought?.failure) || attempt === ATTEMPTS) return;
      try {
        const chosen = await this.look(AbortSignal.timeout(this.steps.limits.looking));
        if ('notShown' in chosen) return;
        await this.#signAnew(chosen.sign, this.#alone(keyServer));
      } catch (error) {
        this.error = this.#urgently(error);
        return;
      }
    }
  }

  async #bringOnce(keyServer: KeyServerAccess | undefined): Promise<void> {
    const { chosen } = this;
    if (chosen === undefined) throw new Error('nothing was chosen');
    const to = this.#to(chosen, keyServer);
    const silent = keyServer && this.#found.silent;
    const renew = async () => {
      this.steps.checkNotStopped();
      await adopt({ ...to, keyServer: keyServer && { ...keyServer, answered: undefined }, target: undefined });
      await this.#signAnew(chosen, this.#alone(keyServer));
    };
    const urgent = { ...to, ...this.#found, silent, renew, signed: () => this.#bytes() };
    this.error = undefined;
    try {
      this.brought = await bringToBoth(urgent);
      const failed = failureOf(urgent, this.brought);
      if (failed)
        this.error = withWhatRemains(chosen.live ? hiddenOrLost(failed, this.places) : failed, undefined, this.places);
    } catch (error) {
      this.error = this.#urgently(error);
    }
    this.hasIt = this.place !== undefined && (to.target === undefined || this.steps.hasDone('bringing'));
    await this.#remember();
  }

  /** Whatever another place, or another program, has put into the output since. */
  #bytes(): Uint8Array {
    if (this.signed === undefined) throw new Error('nothing was signed');
    return this.signed.bytes;
  }

  #remember(): Promise<void> {
    const { signed, steps, place } = this;
    const { inTurn } = this.#together;
    if (signed === undefined) return Promise.resolve();
    const who = { place: this.hasIt ? place : undefined, keyServer: steps.hasDone('telling') };
    return inTurn(() => rememberBrought(this.places.workspace, signed, who));
  }

  /** What is signed once more owes nothing but what it is for. */
  #alone(keyServer: KeyServerAccess | undefined): Bringing {
    const isTold = keyServer !== undefined;
    return {
      places: this.hasIt ? [] : this.owing,
      keyServer: isTold && !this.steps.hasDone('telling'),
      tells: isTold,
    };
  }

  #urgently(error: unknown): unknown {
    return urgentlyBusy(error, this.#together.run.withdraw);
  }

  #to({ live, mayBeOut }: Pick<ToWithdraw, 'live' | 'mayBeOut'>, keyServer: KeyServerAccess | undefined): AdoptPlaces {
    const { workspace, out } = this.places;
    const target = this.#target;
    const { inTurn } = this.#together;
    const { during } = this.steps;
    return { workspace, out, live, mayBeOut, target, keyServer, now: nowInSeconds(), urgent: true, during, inTurn };
  }

  /** A number that is not known here may have been made elsewhere: the target may know it. */
  async #explain(error: unknown, to: AdoptPlaces): Promise<never> {
    if (!(error instanceof PublishError && error.code === 'version-unknown')) throw error;
    const newer = await adopt({ ...to, urgent: false }).catch((claim: unknown) => claim);
    if (!(newer instanceof PublishError && newer.code === 'target-newer')) throw error;
    throw new PublishError('version-unknown', `${error.message}; ${newer.message}`, {
      typed: true,
      hint: `withdraw it where it was made; else ${newer.hint}`,
    });
  }
}

export function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}

/** @returns does one thing after the other, whatever becomes of those before */
export function turns(): Together['inTurn'] {
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = turn.then(work);
    turn = next.catch(() => undefined);
    return next;
  };
}
