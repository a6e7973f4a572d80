/** Questions between the processes of one key server. All that a process says in one turn of its loop goes as one message. */
import type { Serializable } from 'node:child_process';
import { KeyServerError, type KeyServerErrorCode } from '../errors.ts';

type Callable = (...question: never[]) => unknown;
type Question<Answer> = Answer extends Callable ? Parameters<Answer> : never;
type AnswerOf<Answer> = Answer extends Callable ? Awaited<ReturnType<Answer>> : never;

type Said =
  | { readonly name: string; readonly question: readonly unknown[]; readonly id?: number }
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly refusal: unknown };

/** Process of this one, or of another. */
interface End {
  readonly connected: boolean;
  on(event: 'message', heard: (all: unknown) => void): unknown;
  send?(all: Serializable, sent: () => void): unknown;
}

/** End of the way to another process, which answers what `Other` has; processes have to be started with `advanced` serialization. */
export class Channel<Other> {
  readonly #end: End;
  readonly #answers = Promise.withResolvers<Readonly<Record<string, Callable>>>();
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #unsent: Said[] = [];
  #asked = 0;

  constructor(end: End) {
    this.#end = end;
    end.on('message', (all) => {
      for (const said of all as readonly Said[]) void this.#hear(said);
    });
  }

  /** Sets what the other end may ask from now on, and has asked before. */
  answerBy<Own>(answers: Own): void {
    this.#answers.resolve(answers as Readonly<Record<string, Callable>>);
  }

  /** @throws KeyServerError where the answer is one; Error where there will be none */
  async ask<Name extends keyof Other & string>(
    name: Name,
    ...question: Question<Other[Name]>
  ): Promise<AnswerOf<Other[Name]>> {
    const id = ++this.#asked;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#say({ id, name, question });
    return (await waiting.promise) as AnswerOf<Other[Name]>;
  }

  tell<Name extends keyof Other & string>(name: Name, ...question: Question<Other[Name]>): void {
    this.#say({ name, question });
  }

  close(reason: Error): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }

  #say(said: Said): void {
    if (this.#unsent.push(said) > 1) return;
    setImmediate(() => {
      const all = this.#unsent;
      this.#unsent = [];
      if (this.#end.connected) this.#end.send?.(all as unknown as Serializable, () => undefined); // an end is noticed elsewhere
    });
  }

  async #hear(said: Said): Promise<void> {
    if (!('name' in said)) {
      const waiting = this.#waiting.get(said.id);
      this.#waiting.delete(said.id);
      if ('answer' in said) waiting?.resolve(said.answer);
      else waiting?.reject(errorOf(said.refusal));
      return;
    }
    const { id, name, question } = said;
    try {
      const answer = await (await this.#answers.promise)[name]?.(...(question as never[]));
      if (id !== undefined) this.#say({ id, answer });
    } catch (error) {
      if (id !== undefined) this.#say({ id, refusal: sent(error) });
    }
  }
}

/** Members of errors are not sent, but of plain objects. */
function sent(error: unknown): unknown {
  if (!(error instanceof KeyServerError)) return error;
  const { code, message, fields, typed } = error;
  return { code, message, fields, typed };
}

function errorOf(refusal: unknown): unknown {
  if (refusal instanceof Error) return refusal;
  const { code, message, ...options } = refusal as KeyServerError & { readonly code: KeyServerErrorCode };
  return new KeyServerError(code, message, options);
}
