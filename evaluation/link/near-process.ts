/** A program of the near side that takes a command a line from its standard input, and answers with a line of JSON; first it says that it is ready. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { NODE } from '../../bench/processes.ts';
import type { NarrowLink } from './narrow-link.ts';

interface NearAnswer {
  /** Time that the command has taken. */
  readonly milliseconds?: number | undefined;
  readonly error?: string;
}

/** Does on the near side what each command says, until there are no more. @param work - returns milliseconds, where they count */
export async function answerCommands<Command>(work: (command: Command) => Promise<number | undefined>): Promise<void> {
  const answer = (given: NearAnswer) => process.stdout.write(`${JSON.stringify(given)}\n`);
  answer({});
  for await (const text of createInterface(process.stdin)) {
    try {
      answer({ milliseconds: await work(JSON.parse(text)) });
    } catch (error) {
      answer({ error: String(error) });
    }
  }
}

/** @returns milliseconds, where they count @throws Error with what it says where it failed */
export type AskNear<Command> = (command: Command) => Promise<number>;

/** Starts a program on the near side, until the end of `endings`. @param setting - its argument, as JSON */
export async function startNear<Command>(
  link: NarrowLink,
  program: string,
  setting: object,
  endings: AsyncDisposableStack,
): Promise<AskNear<Command>> {
  const [command, args] = link.near(NODE, [program, JSON.stringify(setting)]);
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  endings.defer(async () => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the near side ended');
    const given: NearAnswer = JSON.parse(value);
    if (given.error !== undefined) throw new Error(`the near side: ${given.error}`);
    return given.milliseconds ?? Number.NaN;
  };
  await answer();
  return (wanted) => {
    child.stdin.write(`${JSON.stringify(wanted)}\n`);
    return answer();
  };
}
