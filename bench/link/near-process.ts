/** A program of the near side that takes a command a line from its standard input, and answers with a line of JSON; first it says that it is ready. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { NODE } from '../processes.ts';
import type { NarrowLink } from './narrow-link.ts';

export class NearProcess<Command, Answer extends { readonly error?: string }> {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(process: ChildProcess, lines: AsyncIterator<string>) {
    this.#process = process;
    this.#lines = lines;
  }

  /** @param setting - its argument, as JSON */
  static async start<Command, Answer extends { readonly error?: string }>(
    link: NarrowLink,
    program: string,
    setting: object,
  ): Promise<NearProcess<Command, Answer>> {
    const [command, args] = link.near(NODE, [program, JSON.stringify(setting)]);
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const near = new NearProcess<Command, Answer>(
      child,
      createInterface({ input: child.stdout })[Symbol.asyncIterator](),
    );
    await near.#answer();
    return near;
  }

  /** @throws Error with what it says where it failed */
  async ask(command: Command): Promise<Answer> {
    this.#process.stdin?.write(`${JSON.stringify(command)}\n`);
    return this.#answer();
  }

  async #answer(): Promise<Answer> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('the near side ended');
    const answer: Answer = JSON.parse(value);
    if (answer.error !== undefined) throw new Error(`the near side: ${answer.error}`);
    return answer;
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end();
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}
