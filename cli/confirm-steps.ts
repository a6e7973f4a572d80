/** How far `wispr timestamp` and `wispr withdraw` have come: for who waits, and for who ends them. */
import { PublishError } from '../publisher/errors.ts';
import type { Step } from '../publisher/publish/bring-timestamp.ts';
import type { PublicationPlaces } from './publication-places.ts';

/** Tests have others. */
export const CONFIRM_LIMITS = {
  /** Milliseconds in all for seeing what target and key server have, before a withdrawal is signed without that. */
  looking: 10_000,
  /** Milliseconds that nobody minds to wait without a word. */
  moment: 2_000,
} as const;

export type ConfirmLimits = { readonly [Name in keyof typeof CONFIRM_LIMITS]: number };

/** Who looks on. */
export interface Onlooker {
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Told what is waited for longer than a moment. */
  readonly onWait?: (what: string) => void;
  /** Told what is doubtful. */
  readonly onDoubt?: (doubt: string) => void;
  /** Left out but in tests. */
  readonly limits?: ConfirmLimits;
}

export class ConfirmSteps {
  readonly signal: AbortSignal | undefined;
  readonly limits: ConfirmLimits;
  readonly #places: PublicationPlaces;
  readonly #onlooker: Onlooker;
  readonly #begun = new Set<Step>();
  readonly #done = new Set<Step>();
  readonly #said = new Set<string>();
  #isSigned = false;
  #isInOutput = false;

  constructor(places: PublicationPlaces, onlooker: Onlooker) {
    this.signal = onlooker.signal;
    this.limits = onlooker.limits ?? CONFIRM_LIMITS;
    this.#places = places;
    this.#onlooker = onlooker;
  }

  doubt(what: string): void {
    this.#onlooker.onDoubt?.(what);
  }

  /** It is signed, and nowhere else yet. @param isInOutput - `false` where that has gone on: then only this run has it */
  signed(isInOutput: boolean): void {
    this.#isSigned = true;
    this.#isInOutput = isInOutput;
  }

  /** Does a step, and says what it is where it takes longer than a moment. */
  readonly during = async <Result>(step: Step, work: () => Promise<Result>): Promise<Result> => {
    if (!this.signal?.aborted) this.#begun.add(step); // else it only ends
    const timer = setTimeout(() => this.#sayOnce(this.#describe(step)), this.limits.moment);
    try {
      const result = await work();
      this.#done.add(step);
      return result;
    } finally {
      clearTimeout(timer);
    }
  };

  #sayOnce(what: string): void {
    if (this.#said.has(what)) return;
    this.#said.add(what);
    this.#onlooker.onWait?.(what);
  }

  /** @throws PublishError `stopped` */
  checkNotStopped(): void {
    if (this.signal?.aborted) throw nothingSigned();
  }

  /** What is true where it ended. @param withdraw - the version that was to be withdrawn */
  stopped(withdraw: number | undefined): PublishError {
    if (!this.#isSigned) return nothingSigned();
    const { out } = this.#places;
    const where = [this.#isInOutput ? `signed, in ${out}` : 'signed', ...this.#whereabouts()].join('; ');
    const what = withdraw === undefined ? 'the publication is confirmed' : `publication ${withdraw} is withdrawn`;
    const finishes = this.#isInOutput ? 'it finishes this' : 'it signs that once more, and brings it';
    const again = `run "wispr ${withdraw === undefined ? 'timestamp' : `withdraw ${withdraw}`}" again: ${finishes}`;
    const hint = withdraw === undefined ? again : `${again}; until then readers who do not hear of it go on as before`;
    return new PublishError('stopped', `stopped; ${what}, and that is ${where}`, { hint });
  }

  #whereabouts(): string[] {
    const { target, token, configuration } = this.#places;
    const state = (step: Step, who: string) => {
      if (this.#done.has(step)) return `${who} has it`;
      return this.#begun.has(step) ? `whether ${who} has it is not known` : `${who} does not have it`;
    };
    return [
      ...(token === undefined ? [] : [state('telling', `the key server ${configuration.keyServer}`)]),
      ...(target ? [state('bringing', target.name)] : []),
    ];
  }

  #describe(step: Step): string {
    const { target, configuration } = this.#places;
    const keyServer = `the key server ${configuration.keyServer}`;
    const signed = this.#isSigned ? 'signed; ' : '';
    switch (step) {
      case 'looking':
        return `${signed}looking at what ${target?.name} has`;
      case 'asking':
        return `${signed}asking ${keyServer} what it has`;
      case 'bringing':
        return `${signed}bringing the timestamp to ${target?.name}`;
      case 'telling':
        return `${signed}telling ${keyServer}`;
    }
  }
}

function nothingSigned(): PublishError {
  return new PublishError('stopped', 'stopped; nothing was signed', { hint: 'run the same command again' });
}
