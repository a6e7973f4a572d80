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

/** Of several places, each says what it waits for, and what is doubtful: the same thing is told once. */
export function saidOnce({ onWait, onDoubt, ...onlooker }: Onlooker): Onlooker {
  const said = new Set<string>();
  const once = (say: (what: string) => void) => (what: string) => {
    if (!said.has(what)) say(what);
    said.add(what);
  };
  return { ...onlooker, ...(onWait && { onWait: once(onWait) }), ...(onDoubt && { onDoubt: once(onDoubt) }) };
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

  get isSigned(): boolean {
    return this.#isSigned;
  }

  /** Where it lies, if no other place has it: `undefined` where only this run does. */
  get liesIn(): string | undefined {
    return this.#isInOutput ? this.#places.out : undefined;
  }

  /** Whether a step came to its end. */
  hasDone(step: Step): boolean {
    return this.#done.has(step);
  }

  atKeyServer(): string {
    return this.#state('telling', `the key server ${this.#places.configuration.keyServer}`);
  }

  atTarget(): string[] {
    const { target } = this.#places;
    return target ? [this.#state('bringing', target.name)] : [];
  }

  #state(step: Step, who: string): string {
    if (this.#done.has(step)) return `${who} has it`;
    return this.#begun.has(step) ? `whether ${who} has it is not known` : `${who} does not have it`;
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

/**
 * What is true where it ended, by place.
 *
 * @param all - at each place. @param telling - at the one with which the key server is told, if it is
 * @param withdraw - the version that was to be withdrawn
 */
export function stoppedAt(
  all: readonly ConfirmSteps[],
  telling: ConfirmSteps | undefined,
  withdraw: number | undefined,
): PublishError {
  if (!all.some(({ isSigned }) => isSigned)) return nothingSigned();
  const out = all.map(({ liesIn }) => liesIn).find((where) => where !== undefined);
  const toTell = telling ? [telling.atKeyServer()] : [];
  const where = [
    out === undefined ? 'signed' : `signed, in ${out}`,
    ...toTell,
    ...all.flatMap((one) => one.atTarget()),
  ];
  const what = withdraw === undefined ? 'the publication is confirmed' : `publication ${withdraw} is withdrawn`;
  const finishes = out === undefined ? 'it signs that once more, and brings it' : 'it finishes this';
  const again = `run "wispr ${withdraw === undefined ? 'timestamp' : `withdraw ${withdraw}`}" again: ${finishes}`;
  const hint = withdraw === undefined ? again : `${again}; until then readers who do not hear of it go on as before`;
  return new PublishError('stopped', `stopped; ${what}, and that is ${where.join('; ')}`, { hint });
}

function nothingSigned(): PublishError {
  return new PublishError('stopped', 'stopped; nothing was signed', { hint: 'run the same command again' });
}
