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
import type { Together, WithdrawAt } from './withdraw-at.ts';
import { giveUpGone } from './withdraw-gone.ts';
import { namesToWithdraw, type OpenedPlaces, openPlaces } from './withdraw-open.ts';
import { type Elsewhere, hasNumber, outcomeOf } from './withdraw-outcome.ts';
import { isPast, mayConfirm, tellingOf } from './withdraw-telling.ts';
import { hasLater, saysNothing } from './withdraw-words.ts';

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
  /** In the order of the places. */
  readonly #all: readonly WithdrawAt[];
  /** Where nothing was done. */
  readonly #closed: OpenedPlaces['closed'][number][];
  readonly #names: readonly Place[];
  readonly #elsewhere: Elsewhere[] = [];
  #telling: WithdrawAt | undefined;
  #isOwed = false;
  /** What the key server says: `none` where nobody here can have told it, and it does not say otherwise. It is asked once. */
  readonly #says = lazily(() => this.#ask());

  constructor({ all, closed, together, question }: OpenedPlaces, onlooker: Onlooker) {
    this.#run = together.run;
    this.#remembered = together.remembered;
    this.#onlooker = onlooker;
    this.#together = together;
    this.#question = question;
    this.#all = all;
    this.#closed = [...closed];
    this.#names = [...all, ...closed].map(({ place }) => place);
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
      throw isOfEnding(error) && signal?.aborted ? this.#stopped() : error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
      giveUp();
    }
  }

  async #withdraw(end: AbortSignal): Promise<void> {
    this.#says().catch(() => undefined); // beside all others
    const late = await this.#lookAtAll(this.#all, end);
    const isAlone = !this.#all.some(({ chosen }) => chosen);
    if (isAlone) await this.#lookAtAll(late, undefined);
    await this.#bringAnyway();
    const signing = this.#all.filter(({ chosen }) => chosen);
    const rest = isAlone ? [] : late;
    await this.#settle();
    if (signing.length === 0) return;
    const bringing = await this.#bringingTo(signing);
    await this.#signAll(signing, bringing);
    await Promise.all([this.#bringAll(signing), ...rest.map((at) => this.#finishLate(at))]);
    await this.#settleKeyServer();
    await this.#confirmFirst();
    await this.#findAppeared();
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
    const having = this.#all.filter(({ hasIt }) => hasIt);
    const [first] = having;
    if (first === undefined || this.#remembered.current !== undefined) return;
    const isOurs = ({ current }: LastPublished) => having.some(({ place }) => place === current);
    await this.#remember((last) => (isOurs(last) ? withCurrent(last, first.place) : last), false);
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

  /** Where nobody shows it, but a key server that was told of it sends readers there: it is withdrawn where they look. */
  async #bringAnyway(): Promise<void> {
    if (this.#elsewhere.length < this.#all.length || this.#closed.length > 0) return;
    const says = await this.#says();
    for (const { at, notShown } of this.#elsewhere) {
      const { anyway } = notShown;
      if (anyway === undefined || typeof says !== 'object' || says.sha256 !== anyway.sha256) continue;
      const chosen = await attempt(anyway.choose, (error) => error instanceof CodedError);
      if (chosen.value === undefined) continue; // what was signed for it is nowhere any more
      await at.take(chosen.value, undefined);
      at.isOwing = notShown.isBegun;
      this.#elsewhere.splice(0, this.#elsewhere.length, ...this.#elsewhere.filter((one) => one.at !== at));
      return;
    }
  }

  async #ask(): Promise<KeyServerSays> {
    const { keyServer } = this.#remembered;
    const [first] = this.#all;
    const mayHaveIt = keyServer.told >= this.#run.withdraw;
    if (first === undefined || !(mayHaveIt || this.#together.keyServer)) return 'none';
    const publication = await openOutput(first.places.out, { now: nowInSeconds() });
    const says = await first.steps.during('asking', () => whatKeyServerSays(this.#question, publication));
    return says === 'unknown' && !mayHaveIt ? 'none' : says;
  }

  /** What is known of places that show something else, whatever the others do. */
  async #settle(): Promise<void> {
    const { withdraw } = this.#run;
    const settled = [...this.#elsewhere.map(({ at }) => at), ...this.#all.filter(({ isOwing }) => !isOwing)];
    if (settled.length === 0 || this.#onlooker.signal?.aborted) return;
    const isNowhere = this.#elsewhere.length === this.#all.length && this.#closed.length === 0;
    const says = isNowhere ? await this.#says() : undefined;
    const isBegun = this.#elsewhere.some(({ notShown }) => notShown.isBegun);
    const open = isNowhere ? [] : this.#owing().filter((place) => !settled.some((at) => at.place === place));
    const owing = { places: open, keyServer: !isNowhere && mayConfirm(await this.#says(), withdraw, this.#remembered) };
    const change = (last: LastPublished): LastPublished => {
      const known = isBegun ? withWithdrawn(last, withdraw, owing) : last; // nothing that is made here brings it
      const after = settled.reduce((all, { place }) => withoutOwed(all, place, withdraw), known);
      if (says === 'unknown') return isBegun ? withOwedByKeyServer(after, withdraw) : after;
      if (hasNumber(says, withdraw)) return withOwedByKeyServer(withNews(after, { withdrawn: [withdraw] }), withdraw);
      return says === undefined ? after : withoutOwedByKeyServer(after, withdraw);
    };
    await this.#remember(change, isNowhere);
  }

  /** Who is to have it. */
  async #bringingTo(signing: readonly WithdrawAt[]): Promise<Bringing> {
    const { withdraw } = this.#run;
    if (this.#together.keyServer !== undefined) this.#telling = await this.#tellingOf(signing);
    const keyServer = this.#telling !== undefined || mayConfirm(await this.#says(), withdraw, this.#remembered);
    const known = { places: this.#names, told: this.#remembered.keyServer.told };
    return { places: this.#owing(), keyServer, tells: false, known };
  }

  /** All but those that are known to show something else. */
  #owing(): Place[] {
    const open = this.#all.filter((at) => !this.#elsewhere.some((one) => one.at === at));
    return [...open.flatMap(({ owing }) => owing), ...this.#closed.map(({ place }) => place)];
  }

  /** Those that it was published to while this command looked around. */
  async #findAppeared(): Promise<void> {
    const [first] = this.#all;
    if (first === undefined) return;
    const { places, keyServer } = await readLastPublished(first.places.workspace);
    const isUntold = this.#together.keyServer !== undefined && this.#telling === undefined;
    const { origin } = this.#question;
    if (isUntold && keyServer.owed.includes(this.#run.withdraw))
      this.#closed.push({ place: origin, error: saysNothing(origin) });
    const owing = places.filter(
      ({ owed, target }) => owed.includes(this.#run.withdraw) && !this.#names.includes(target),
    );
    this.#closed.push(...owing.map(({ target: place }) => ({ place, error: publishedMeanwhile() })));
  }

  async #tellingOf(signing: readonly WithdrawAt[]): Promise<WithdrawAt | undefined> {
    const [first] = signing;
    if (first === undefined) return undefined;
    const last = await readLastPublished(first.places.workspace);
    return tellingOf(signing, { withdraw: this.#run.withdraw, last, says: await this.#says() });
  }

  /** What lies in the output is signed once, for all that have it. The first signature remembers who owes it. */
  async #signAll(signing: readonly WithdrawAt[], bringing: Bringing): Promise<void> {
    let own: SignedTimestamp | undefined;
    for (const at of signing) {
      try {
        const isOwn = at.chosen?.live === undefined;
        const alone = { ...bringing, keyServer: false, places: at.owing, known: undefined };
        const tells = this.#telling !== undefined && at.chosen?.live === this.#telling.chosen?.live;
        const signed = await at.sign({ ...(this.#isOwed ? alone : bringing), tells }, isOwn ? own : undefined);
        this.#isOwed = true;
        if (isOwn) own = signed;
      } catch (error) {
        at.error = urgentlyBusy(error, this.#run.withdraw);
      }
    }
  }

  async #bringAll(signing: readonly WithdrawAt[]): Promise<void> {
    const signed = signing.filter((at) => at.signed);
    await Promise.all(signed.map((at) => at.bring(at === this.#telling ? this.#together.keyServer : undefined)));
  }

  /** The others are not held up by one that hangs. */
  async #finishLate(at: WithdrawAt): Promise<void> {
    await this.#lookAtAll([at], undefined);
    await this.#settle();
    if (at.chosen === undefined) return;
    await this.#signAll([at], { places: at.owing, keyServer: false, tells: false });
    if (at.signed) await at.bring(undefined);
  }

  async #outcome(): Promise<Confirmed> {
    const failed = this.#all.some(({ error }) => isOfEnding(error));
    if (this.#onlooker.signal?.aborted && failed) throw this.#stopped();
    return outcomeOf({
      all: this.#all,
      closed: this.#closed,
      elsewhere: this.#elsewhere,
      telling: this.#telling,
      together: this.#together,
      keyServer: this.#question.origin,
      says: this.#says,
    });
  }

  #stopped(): PublishError {
    return stoppedAt(
      this.#all.map(({ steps }) => steps),
      this.#telling?.steps,
      this.#run.withdraw,
    );
  }

  /** @param isAll - whether this is all that is done: then it is done, or said not to be */
  async #remember(change: (last: LastPublished) => LastPublished, isAll: boolean): Promise<void> {
    const [first] = this.#all;
    if (first === undefined) return;
    const { workspace } = first.places;
    const strictly = () => withLock(workspace, () => rememberPublished(workspace, change));
    await this.#together.inTurn(async () => (isAll ? void (await strictly()) : rememberIfFree(workspace, change)));
  }
}
