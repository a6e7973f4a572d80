/** The key server's part of `wispr withdraw`: it is asked once, before anything is told, and told once, of a publication that its readers may have. */
import { CodedError } from '../core/errors.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { lazily } from '../node-support/lazily.ts';
import { readLastPublished } from '../publisher/last-published.ts';
import { openOutput } from '../publisher/publication/own.ts';
import { attempt } from '../publisher/publish/bring-failures.ts';
import type { KeyServerAccess } from '../publisher/publish/key-server.ts';
import { type KeyServerSays, whatKeyServerSays } from '../publisher/publish/key-server-says.ts';
import type { WithdrawAt } from './withdraw-at.ts';
import type { OpenedPlaces } from './withdraw-open.ts';
import { isPast, mayConfirm, tellingOf } from './withdraw-telling.ts';

export class WithdrawAtKeyServer {
  /** What it says: `none` where nobody here can have told it, and it does not say otherwise. */
  readonly says = lazily(() => this.#ask());
  readonly #opened: OpenedPlaces;
  readonly #looking: number;
  #telling: WithdrawAt | undefined;

  /** @param looking - milliseconds for what it names */
  constructor(opened: OpenedPlaces, looking: number) {
    this.#opened = opened;
    this.#looking = looking;
  }

  get origin(): string {
    return this.#opened.question.origin;
  }

  /** With whose publication it is told, once that is known. */
  get telling(): WithdrawAt | undefined {
    return this.#telling;
  }

  /** Whether that could not be signed. */
  get isLost(): boolean {
    return this.#telling?.signed === undefined && this.#telling?.error !== undefined;
  }

  /** Where it has what no place can be asked for, and is told of that. */
  get itself(): readonly WithdrawAt[] {
    const { atKeyServer } = this.#opened;
    return this.#telling === atKeyServer ? [atKeyServer] : [];
  }

  /** Who takes it there; `undefined` for the others. */
  accessOf(at: WithdrawAt): KeyServerAccess | undefined {
    return at === this.#telling ? this.#opened.together.keyServer : undefined;
  }

  /** Whether there is a token, and nothing that it can be told with. */
  get isUntold(): boolean {
    return this.#opened.together.keyServer !== undefined && this.#telling === undefined;
  }

  /** Whether it may confirm what is withdrawn, as far as is known. */
  async mayConfirm(): Promise<boolean> {
    const { run, remembered } = this.#opened.together;
    return mayConfirm(await this.says(), run.withdraw, remembered);
  }

  /** @returns what of ours it has, and its readers take nothing below: there is nothing to tell it */
  async later(): Promise<number | undefined> {
    const { run, remembered } = this.#opened.together;
    const says = await this.says();
    return isPast(says, run.withdraw, remembered) ? says.version : undefined;
  }

  /** Decides with what it is told; once more, where that could not be signed. @param signing - what is to be signed, or is, by now */
  async choose(signing: readonly WithdrawAt[]): Promise<void> {
    const { here, together, atKeyServer } = this.#opened;
    if (together.keyServer === undefined || (this.#telling && !this.isLost)) return;
    const says = await this.says();
    const last = await readLastPublished(here.workspace);
    const openItself = async () => ((await this.openAt(atKeyServer)) ? atKeyServer : undefined);
    this.#telling = await tellingOf(signing, { withdraw: together.run.withdraw, last, says, openItself });
  }

  /** Has what it names signed for somebody. @returns whether it can be: what is not here any more cannot */
  async openAt(at: WithdrawAt): Promise<boolean> {
    const says = await this.says();
    if (typeof says !== 'object') return false;
    const end = AbortSignal.timeout(this.#looking);
    const take = async () => at.take(await at.chooseToTell(says, end), end).then(() => true);
    const { value = false } = await attempt(take, (error) => error instanceof CodedError);
    return value;
  }

  async #ask(): Promise<KeyServerSays> {
    const { here, together, atKeyServer, question } = this.#opened;
    const { withdraw } = together.run;
    const { told, owed } = together.remembered.keyServer;
    const mayHaveIt = told >= withdraw || owed.includes(withdraw);
    if (!(mayHaveIt || together.keyServer)) return 'none';
    const publication = await openOutput(here.out, { now: nowInSeconds() });
    const says = await atKeyServer.steps.during('asking', () => whatKeyServerSays(question, publication));
    return says === 'unknown' && !mayHaveIt ? 'none' : says;
  }
}
