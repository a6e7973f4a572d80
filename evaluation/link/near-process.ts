/** A program of the near side that takes a command a line from its standard input, and answers with a line of JSON; first it says that it is ready. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { NODE } from '../../bench/processes.ts';
import type { NarrowLink } from './narrow-link.ts';

export interface NearAnswer {
  /** That what was asked for has taken. */
  readonly milliseconds?: number;
  readonly error?: string;
}

/** On the near side: does what each command says, until there are no more. */
export async function answerCommands<Command>(work: (command: Command) => Promise<NearAnswer>): Promise<void> {
  const answer = (given: NearAnswer) => process.stdout.write(`${JSON.stringify(given)}\n`);
  answer({});
  for await (const text of createInterface(process.stdin)) {
    try {
      answer(await work(JSON.parse(text)));
    } catch (error) {
      answer({ error: String(error) });
    }
  }
}

export class NearProcess<Command> {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(process: ChildProcess, lines: AsyncIterator<string>) {
    this.#process = process;
    this.#lines = lines;
  }

  /** @param setting - its argument, as JSON */
  static async start<Command>(link: NarrowLink, program: string, setting: object): Promise<NearProcess<Command>> {
    const [command, args] = link.near(NODE, [program, JSON.stringify(setting)]);
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const near = new NearProcess<Command>(child, createInterface({ input: child.stdout })[Symbol.asyncIterator]());
    await near.#answer();
    return near;
  }

  /** @throws Error with what it says where it failed */
  async ask(command: Command): Promise<NearAnswer> {
    this.#process.stdin?.write(`${JSON.stringify(command)}\n`);
    return this.#answer();
  }

  async #answer(): Promise<NearAnswer> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('the near side ended');
    const answer: NearAnswer = JSON.parse(value);
    if (answer.error !== undefined) throw new Error(`the near side: ${answer.error}`);
    return answer;
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end();
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}
