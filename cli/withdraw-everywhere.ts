/**
 * `wispr withdraw`, at every place that may show a publication. All are looked at beside one another; the key server is asked once, before anything
 * is told, and told once, of a publication that its readers may have. What was not brought stays owed by its place.
 */
import { CodedError } from '../core/errors.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { lazily } from '../node-support/lazily.ts';
import type { PublishError } from '../publisher/errors.ts';
import { readLastPublished, rememberPublished } from '../publisher/last-published.ts';
import { openOutput } from '../publisher/publication/own.ts';
import { attempt } from '../publisher/publish/bring-failures.ts';
import type { Chosen } from '../publisher/publish/choose-publication.ts';
import type { KeyServerQuestion } from '../publisher/publish/key-server.ts';
import { type KeyServerSays, whatKeyServerSays } from '../publisher/publish/key-server-says.ts';
import {
  currentPlace,
  type LastPublished,
  type Place,
  withCurrent,
  withNews,
  withOwedByKeyServer,
  withoutOwed,
  withoutOwedByKeyServer,
  withTold,
  withWithdrawn,
} from '../publisher/published-places.ts';
import type { Bringing } from '../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { withLock, workspaceOf } from '../publisher/workspace.ts';
import { isOfEnding, needsAnother } from './confirm-failures.ts';
import { rememberIfFree } from './confirm-memory.ts';
import { CONFIRM_LIMITS, type Onlooker, saidOnce, stoppedAt } from './confirm-steps.ts';
import { publishedMeanwhile, urgentlyBusy } from './confirm-words.ts';
import type { Confirmed, ConfirmFlags } from './confirmed.ts';
import { locateConfiguration } from './locate-configuration.ts';
import type { PublicationPlaces } from './publication-places.ts';
import { type Together, turns, type WithdrawAt } from './withdraw-at.ts';
import { giveUpGone } from './withdraw-gone.ts';
import { namesToWithdraw, type OpenedPlaces, openPlaces } from './withdraw-open.ts';
import { type Elsewhere, hasNumber, outcomeOf } from './withdraw-outcome.ts';
import { isOf, isPast, mayConfirm, tellingOf } from './withdraw-telling.ts';
import { hasLater, notTold } from './withdraw-words.ts';

/** @throws as `confirmFromWorkspace` */
export async function withdrawEverywhere(
  run: Together['run'],
  flags: ConfirmFlags,
  onlooker: Onlooker,
): Promise<Confirmed> {
  const workspace = workspaceOf(locateConfiguration(undefined, flags.config));
  const isGivenUp = await giveUpGone(workspace, flags, run.withdraw);
  const remembered = await readLastPublished(workspace);
  const usual = currentPlace(remembered)?.target ?? (isGivenUp ? null : undefined);
  const end = AbortSignal.timeout((onlooker.limits ?? CONFIRM_LIMITS).looking);
  const sayingOnce = saidOnce(onlooker);
  const opening = { run, remembered, flags, onlooker: sayingOnce, end };
  const names = await namesToWithdraw(remembered, run.withdraw, workspace, usual);
  return new Withdrawing(await openPlaces(names, opening), sayingOnce).withdraw(end);
}

class Withdrawing {
  readonly #run: Together['run'];
  readonly #remembered: LastPublished;
  readonly #onlooker: Onlooker;
  readonly #together: Together;
  readonly #question: KeyServerQuestion;
  readonly #here: PublicationPlaces;
  /** In the order of the places. */
  readonly #all: readonly WithdrawAt[];
  /** Where nothing was done. */
  readonly #closed: OpenedPlaces['closed'][number][];
  readonly #names: readonly Place[];
  readonly #atKeyServer: WithdrawAt;
  readonly #elsewhere: Elsewhere[] = [];
  #telling: WithdrawAt | undefined;
  /** Whether it is remembered who is to have it: the first signature does that. */
  #isOwed = false;
  /** What lies in the output is signed once, for all that have it. */
  #own: SignedTimestamp | undefined;
  /** What the key server says: `none` where nobody here can have told it, and it does not say otherwise. It is asked once. */
  readonly #says = lazily(() => this.#ask());
  /** One after the other: who is known by then is signed for. */
  readonly #inTurn = turns();

  constructor({ here, all, closed, atKeyServer, together, question }: OpenedPlaces, onlooker: Onlooker) {
    this.#run = together.run;
    this.#remembered = together.remembered;
    this.#onlooker = onlooker;
    this.#together = together;
    this.#question = question;
    this.#here = here;
    this.#all = all;
    this.#closed = [...closed];
    this.#names = [...all.flatMap(({ owing }) => owing), ...closed.map(({ place }) => place)];
    this.#atKeyServer = atKeyServer;
  }

  async withdraw(end: AbortSignal): Promise<Confirmed> {
    const { signal } = this.#onlooker;
    const giveUp = () => {
      for (const { places } of this.#all) places.target?.close();
    };
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      await this.#withdraw(end);
      return await this.#outcome();
    } catch (error) {
      throw isOfEnding(error) && signal?.aborted ? this.#stopped() : urgentlyBusy(error, this.#run.withdraw);
    } finally {
      signal?.removeEventListener('abort', giveUp);
      giveUp();
    }
  }

  /** Nobody is held up by a place that hangs: each is signed for as soon as it is known what it shows. */
  async #withdraw(end: AbortSignal): Promise<void> {
    this.#says().catch(() => undefined); // beside all others
    const late = await this.#lookAtAll(this.#all, end);
    const finish = async (at: WithdrawAt) => {
      await this.#lookAtAll([at], undefined);
      await this.#goOn();
    };
    await Promise.all([this.#goOn(), ...late.map(finish)]);
    if (!this.#isOwed) return;
    await this.#settleKeyServer();
    await this.#confirmFirst();
    await this.#findAppeared();
  }

  /** @returns those that did not show in time what they have, and without which nothing can be signed for them */
  async #lookAtAll(all: readonly WithdrawAt[], end: AbortSignal | undefined): Promise<WithdrawAt[]> {
    const late: WithdrawAt[] = [];
    const { signal } = this.#onlooker;
    const look = async (at: WithdrawAt) => {
      try {
        this.#found(at, await at.look(end));
      } catch (error) {
        if (end?.aborted && !signal?.aborted && needsAnother(error)) late.push(at);
        else at.error = urgentlyBusy(error, this.#run.withdraw);
      }
    };
    await Promise.all(all.map(look));
    return late;
  }

  #found(at: WithdrawAt, chosen: Chosen): void {
    if (!('notShown' in chosen)) return;
    this.#elsewhere.push({ at, notShown: chosen.notShown });
    this.#elsewhere.sort((one, other) => this.#all.indexOf(one.at) - this.#all.indexOf(other.at));
  }

  /** Those of which it is known by now are signed for, and brought it. */
  async #goOn(): Promise<void> {
    const signed = await this.#inTurn(async () => {
      await this.#takeBegun();
      const signing = this.#all.filter(({ isWaiting }) => isWaiting);
      this.#telling ??= await this.#tellingOf(signing);
      if (this.#telling === this.#atKeyServer && this.#atKeyServer.isWaiting) signing.push(this.#atKeyServer);
      await this.#settle(signing.length === 0);
      for (const at of signing) await this.#sign(at);
      return signing.filter((at) => at.signed);
    });
    await Promise.all(signed.map((at) => at.bring(at === this.#telling ? this.#together.keyServer : undefined)));
  }

  /** Where nobody shows it, but a key server sends readers to what was on its way to a place: it is withdrawn where they look. */
  async #takeBegun(): Promise<void> {
    if (this.#isOwed || this.#elsewhere.length < this.#all.length) return;
    const says = this.#elsewhere.length > 0 ? await this.#says() : 'none';
    const has = this.#elsewhere.find(({ notShown: { begun } }) => begun && isOf(says, begun));
    const value = has && (await this.#openItself(says, has.at));
    if (has && value) this.#elsewhere.splice(this.#elsewhere.indexOf(has), 1);
  }

  async #tellingOf(signing: readonly WithdrawAt[]): Promise<WithdrawAt | undefined> {
    if (this.#together.keyServer === undefined) return undefined;
    const says = await this.#says();
    const last = await readLastPublished(this.#here.workspace);
    return tellingOf(signing, {
      withdraw: this.#run.withdraw,
      last,
      says,
      openItself: () => this.#openItself(says, this.#atKeyServer),
    });
  }

  /** What is not here any more cannot be signed for. @param at - who is to have it */
  async #openItself(says: KeyServerSays, at: WithdrawAt): Promise<WithdrawAt | undefined> {
    if (typeof says !== 'object') return undefined;
    const end = AbortSignal.timeout((this.#onlooker.limits ?? CONFIRM_LIMITS).looking);
    const { value } = await attempt(
      () => at.chooseToTell(says, end),
      (error) => error instanceof CodedError,
    );
    if (value === undefined) return undefined;
    await at.take(value, end);
    return at;
  }

  async #sign(at: WithdrawAt): Promise<void> {
    try {
      const isOwn = at.chosen?.live === undefined;
      const tells = at === this.#telling || (this.#telling !== undefined && isOwn && !this.#telling.chosen?.live);
      const signed = await at.sign({ ...(await this.#bringingTo(at)), tells }, isOwn ? this.#own : undefined);
      this.#isOwed = true;
      if (isOwn) this.#own = signed;
    } catch (error) {
      at.error = urgentlyBusy(error, this.#run.withdraw);
    }
  }

  /** Who is to have it: the first that is signed remembers that of all. */
  async #bringingTo(at: WithdrawAt): Promise<Omit<Bringing, 'tells'>> {
    if (this.#isOwed) return { places: at.owing, keyServer: false };
    const { withdraw } = this.#run;
    const isOwing = this.#telling !== undefined || mayConfirm(await this.#says(), withdraw, this.#remembered);
    const known = { places: this.#names, told: this.#remembered.keyServer.told };
    return { places: this.#owing(), keyServer: isOwing, known };
  }

  /** All but those that are known to show something else. */
  #owing(): Place[] {
    const open = this.#all.filter((at) => !this.#elsewhere.some((one) => one.at === at));
    return [...open.flatMap(({ owing }) => owing), ...this.#closed.map(({ place }) => place)];
  }

  /** What is known of places that show something else, whatever the others do. @param isIdle - nothing is signed besides */
  async #settle(isIdle: boolean): Promise<void> {
    const settled = this.#elsewhere.flatMap(({ at }) => at.owing);
    if (settled.length === 0 || this.#onlooker.signal?.aborted) return;
    const { withdraw } = this.#run;
    const isNowhere =
      isIdle && !this.#isOwed && this.#elsewhere.length === this.#all.length && this.#closed.length === 0;
    const says = isNowhere ? await this.#says() : undefined;
    const isBegun = this.#elsewhere.some(({ notShown }) => notShown.begun !== undefined);
    const owing = {
      places: this.#owing(),
      keyServer: !isNowhere && mayConfirm(await this.#says(), withdraw, this.#remembered),
    };
    const change = (last: LastPublished): LastPublished => {
      const known = isBegun && !this.#isOwed ? withWithdrawn(last, withdraw, owing) : last; // nothing that is made here brings it
      const after = settled.reduce((all, place) => withoutOwed(all, place, withdraw), known);
      if (says === 'unknown') return isBegun ? withOwedByKeyServer(after, withdraw) : after;
      if (hasNumber(says, withdraw)) return withOwedByKeyServer(withNews(after, { withdrawn: [withdraw] }), withdraw);
      return says === undefined ? after : withoutOwedByKeyServer(after, withdraw);
    };
    await this.#remember(change, isNowhere);
  }

  async #ask(): Promise<KeyServerSays> {
    const { told, owed } = this.#remembered.keyServer;
    const { withdraw } = this.#run;
    const mayHaveIt = told >= withdraw || owed.includes(withdraw);
    if (!(mayHaveIt || this.#together.keyServer)) return 'none';
    const publication = await openOutput(this.#here.out, { now: nowInSeconds() });
    const { during } = this.#atKeyServer.steps;
    const says = await during('asking', () => whatKeyServerSays(this.#question, publication));
    return says === 'unknown' && !mayHaveIt ? 'none' : says;
  }

  /** It is not told where there is nothing to tell it. */
  async #settleKeyServer(): Promise<void> {
    const { withdraw } = this.#run;
    const says = await this.#says();
    if (this.#telling !== undefined) return;
    if (says === 'none') await this.#remember((last) => withoutOwedByKeyServer(last, withdraw), false);
    if (!isPast(says, withdraw, this.#remembered)) return;
    await this.#remember((last) => withTold(last, { publication: says.version, withdrawn: [] }), false);
    if (this.#together.keyServer) this.#onlooker.onDoubt?.(hasLater(this.#question.origin, says.version));
  }

  /** Of those that have the first publication, not whoever was quicker is confirmed; nor where somebody else has published it by now. */
  async #confirmFirst(): Promise<void> {
    const having = this.#all.filter(({ hasIt }) => hasIt).flatMap(({ owing }) => owing);
    const [first] = having;
    if (first === undefined || this.#remembered.current !== undefined) return;
    const isOurs = ({ current }: LastPublished) => having.some((place) => place === current);
    await this.#remember((last) => (isOurs(last) ? withCurrent(last, first) : last), false);
  }

  /** Those that it was published to while this command looked around. */
  async #findAppeared(): Promise<void> {
    const { withdraw } = this.#run;
    const { places, keyServer } = await readLastPublished(this.#here.workspace);
    const isUntold = this.#together.keyServer !== undefined && this.#telling === undefined;
    const { origin } = this.#question;
    if (isUntold && keyServer.owed.includes(withdraw))
      this.#closed.push({ place: origin, error: notTold(origin, await this.#says()) });
    const owing = places.filter(({ owed, target }) => owed.includes(withdraw) && !this.#names.includes(target));
    this.#closed.push(...owing.map(({ target: place }) => ({ place, error: publishedMeanwhile() })));
  }

  async #outcome(): Promise<Confirmed> {
    const failed = this.#all.some(({ error }) => isOfEnding(error));
    if (this.#onlooker.signal?.aborted && failed) throw this.#stopped();
    return outcomeOf({
      all: this.#signers,
      closed: this.#closed,
      elsewhere: this.#elsewhere,
      telling: this.#telling,
      together: this.#together,
      keyServer: this.#question.origin,
      says: this.#says,
    });
  }

  /** The places; and the key server, where it is told of what none of them has. */
  get #signers(): readonly WithdrawAt[] {
    return this.#telling === this.#atKeyServer ? [...this.#all, this.#atKeyServer] : this.#all;
  }

  #stopped(): PublishError {
    return stoppedAt(
      this.#signers.map(({ steps }) => steps),
      this.#telling?.steps,
      this.#run.withdraw,
    );
  }

  /** @param isAll - whether this is all that is done: then it is done, or said not to be */
  async #remember(change: (last: LastPublished) => LastPublished, isAll: boolean): Promise<void> {
    const { workspace } = this.#here;
    const strictly = () => withLock(workspace, () => rememberPublished(workspace, change));
    await this.#together.inTurn(async () => (isAll ? void (await strictly()) : rememberIfFree(workspace, change)));
  }
}
