/**
 * `wispr withdraw`, at every place that may show a publication. All are looked at beside one another; the key server is asked once, before anything
 * is told, and told once, of a publication that its readers may have. What was not brought stays owed by its place.
 */
import type { PublishError } from '../publisher/errors.ts';
import { readLastPublished, rememberPublished } from '../publisher/last-published.ts';
import type { Chosen } from '../publisher/publish/choose-publication.ts';
import {
  currentPlace,
  type LastPublished,
  type Place,
  withCurrent,
  withNews,
  withOwedByKeyServer,
  withoutOwed,
  withoutOwedByKeyServer,
  withTelling,
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
import { locateConfiguration } from './io/arguments.ts';
import type { PublicationPlaces } from './publication-places.ts';
import { type Together, turns, type WithdrawAt } from './withdraw-at.ts';
import { giveUpGone } from './withdraw-gone.ts';
import { WithdrawAtKeyServer } from './withdraw-key-server.ts';
import { namesToWithdraw, type OpenedPlaces, openPlaces } from './withdraw-open.ts';
import { type Elsewhere, hasNumber, outcomeOf } from './withdraw-outcome.ts';
import { isOf } from './withdraw-telling.ts';
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
  const { looking, moment } = onlooker.limits ?? CONFIRM_LIMITS;
  const sayingOnce = saidOnce(onlooker);
  const naming = { remembered, version: run.withdraw, flags, end: AbortSignal.timeout(moment) };
  const names = await namesToWithdraw(naming, workspace, usual);
  const end = AbortSignal.timeout(looking);
  const opening = { run, remembered, flags, onlooker: sayingOnce, end };
  return new Withdrawing(await openPlaces(names, opening), sayingOnce).withdraw(end);
}

class Withdrawing {
  readonly #run: Together['run'];
  readonly #remembered: LastPublished;
  readonly #onlooker: Onlooker;
  readonly #together: Together;
  readonly #keyServer: WithdrawAtKeyServer;
  readonly #here: PublicationPlaces;
  /** In the order of the places. */
  readonly #all: readonly WithdrawAt[];
  /** Where nothing was done. */
  readonly #closed: OpenedPlaces['closed'][number][];
  readonly #names: readonly Place[];
  readonly #elsewhere: Elsewhere[] = [];
  /** Whether it is remembered who is to have it: the first signature does that. */
  #isOwed = false;
  /** What lies in the output is signed once, for all that have it: by the snapshot that was chosen. */
  readonly #own = new Map<string | undefined, SignedTimestamp>();
  /** One after the other: who is known by then is signed for. */
  readonly #inTurn = turns();

  constructor(opened: OpenedPlaces, onlooker: Onlooker) {
    const { here, all, closed, together } = opened;
    this.#run = together.run;
    this.#remembered = together.remembered;
    this.#onlooker = onlooker;
    this.#together = together;
    this.#keyServer = new WithdrawAtKeyServer(opened, (onlooker.limits ?? CONFIRM_LIMITS).looking);
    this.#here = here;
    this.#all = all;
    this.#closed = [...closed];
    this.#names = [...all.flatMap(({ owing }) => owing), ...closed.map(({ place }) => place)];
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

  /** Nobody is held up by a place that hangs: each is signed for as soon as it is known what it shows. */
  async #withdraw(end: AbortSignal): Promise<void> {
    this.#keyServer.says().catch(() => undefined); // beside all others
    const late = await this.#lookAtAll(this.#all, end);
    const finish = async (at: WithdrawAt) => {
      await this.#lookAtAll([at], undefined);
      await this.#goOn();
    };
    const ended = await Promise.allSettled([this.#goOn(), ...late.map(finish)]); // whatever ends one, the others come to their end
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
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
      const waiting = this.#all.filter(({ isWaiting }) => isWaiting);
      await this.#keyServer.choose(waiting);
      const signing = [...waiting, ...this.#keyServer.itself.filter(({ isWaiting }) => isWaiting)];
      await this.#settle(signing.length === 0);
      for (const at of signing) await this.#sign(at);
      if (this.#keyServer.isLost) signing.push(...(await this.#tellElse(signing.filter((at) => at.signed))));
      return signing.filter((at) => at.signed);
    });
    await Promise.all(signed.map((at) => at.bring(this.#keyServer.accessOf(at))));
  }

  /** Where nobody shows it, but a key server sends readers to what was on its way to a place: it is withdrawn where they look. */
  async #takeBegun(): Promise<void> {
    if (this.#isOwed || this.#elsewhere.length === 0 || this.#elsewhere.length < this.#all.length) return;
    const says = await this.#keyServer.says();
    const has = this.#elsewhere.find(({ notShown: { begun } }) => begun && isOf(says, begun));
    if (has && (await this.#keyServer.openAt(has.at))) this.#elsewhere.splice(this.#elsewhere.indexOf(has), 1);
  }

  /** With what is signed, where that with which the key server was to be told is not. @returns what is signed for that alone */
  async #tellElse(signed: readonly WithdrawAt[]): Promise<readonly WithdrawAt[]> {
    await this.#keyServer.choose(signed);
    const itself = this.#keyServer.itself.filter(({ isWaiting }) => isWaiting);
    for (const at of itself) await this.#sign(at);
    const publication = this.#keyServer.telling?.signed?.publication;
    if (publication !== undefined) await this.#remember((last) => withTelling(last, publication), false);
    return itself;
  }

  async #sign(at: WithdrawAt): Promise<void> {
    try {
      const isOwn = at.chosen?.live === undefined;
      const { telling } = this.#keyServer;
      const tells = telling !== undefined && (at === telling || (isOwn && telling.chosen?.live === undefined));
      const given = isOwn ? this.#own.get(at.chosen?.snapshot) : undefined;
      const signed = await at.sign({ ...(await this.#bringingTo(at)), tells }, given);
      this.#isOwed = true;
      if (isOwn) this.#own.set(at.chosen?.snapshot, signed);
    } catch (error) {
      at.error = urgentlyBusy(error, this.#run.withdraw);
    }
  }

  /** Who is to have it: the first that is signed remembers that of all. */
  async #bringingTo(at: WithdrawAt): Promise<Omit<Bringing, 'tells'>> {
    if (this.#isOwed) return { places: at.owing, keyServer: false };
    const isOwing = this.#keyServer.telling !== undefined || (await this.#keyServer.mayConfirm());
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
    const says = isNowhere ? await this.#keyServer.says() : undefined;
    const isBegun = this.#elsewhere.some(({ notShown }) => notShown.begun !== undefined);
    const owing = { places: this.#owing(), keyServer: !isNowhere && (await this.#keyServer.mayConfirm()) };
    const change = (last: LastPublished): LastPublished => {
      const known = isBegun && !this.#isOwed ? withWithdrawn(last, withdraw, owing) : last; // nothing that is made here brings it
      const after = settled.reduce((all, place) => withoutOwed(all, place, withdraw), known);
      if (says === 'unknown') return isBegun ? withOwedByKeyServer(after, withdraw) : after;
      if (hasNumber(says, withdraw)) return withOwedByKeyServer(withNews(after, { withdrawn: [withdraw] }), withdraw);
      return says === undefined ? after : withoutOwedByKeyServer(after, withdraw);
    };
    await this.#remember(change, isNowhere);
  }

  /** It is not told where there is nothing to tell it. */
  async #settleKeyServer(): Promise<void> {
    const { withdraw } = this.#run;
    const { telling, isUntold, origin } = this.#keyServer;
    if (telling !== undefined) return;
    if ((await this.#keyServer.says()) === 'none')
      await this.#remember((last) => withoutOwedByKeyServer(last, withdraw), false);
    const later = await this.#keyServer.later();
    if (later === undefined) return;
    await this.#remember((last) => withTold(last, { publication: later, withdrawn: [] }), false);
    if (isUntold) this.#onlooker.onDoubt?.(hasLater(origin, later));
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
    const { isUntold, origin } = this.#keyServer;
    if (isUntold && keyServer.owed.includes(withdraw))
      this.#closed.push({ place: origin, error: notTold(origin, await this.#keyServer.says()) });
    const owing = places.filter(({ owed, target }) => owed.includes(withdraw) && !this.#names.includes(target));
    this.#closed.push(...owing.map(({ target: place }) => ({ place, error: publishedMeanwhile() })));
  }

  async #outcome(): Promise<Confirmed> {
    const failed = this.#signers.some(({ error }) => isOfEnding(error));
    if (this.#onlooker.signal?.aborted && failed) throw this.#stopped();
    return outcomeOf({
      all: this.#signers,
      closed: this.#closed,
      elsewhere: this.#elsewhere,
      telling: this.#keyServer.telling,
      together: this.#together,
      keyServer: this.#keyServer.origin,
      says: this.#keyServer.says,
    });
  }

  /** The places; and the key server, where it is told of what none of them has. */
  get #signers(): readonly WithdrawAt[] {
    return [...this.#all, ...this.#keyServer.itself];
  }

  #stopped(): PublishError {
    return stoppedAt(
      this.#signers.map(({ steps }) => steps),
      this.#keyServer.telling?.steps,
      this.#run.withdraw,
    );
  }

  /** @param isAll - whether this is all that is done: then it is done, or said not to be */
  async #remember(change: (last: LastPublished) => LastPublished, isAll: boolean): Promise<void> {
    const { workspace } = this.#here;
    const strictly = async () => {
      await withLock(workspace, () => rememberPublished(workspace, change)).catch((error: unknown) => {
        throw urgentlyBusy(error, this.#run.withdraw);
      });
    };
    await this.#together.inTurn(() => (isAll ? strictly() : rememberIfFree(workspace, change)));
  }
}
