/** Questions to the person at the terminal. They go to standard error, like everything that is for people. */
import { currentIo } from './context.ts';
import { UsageError } from './voice.ts';

const ENTER = ['\r', '\n'];
const ERASE = ['\u007f', '\b'];
const GIVE_UP = ['\u0003', '\u0004'];

/** Whether questions can be asked: standard input and standard error are a terminal. */
export function canAsk(): boolean {
  const { stdin, stderr } = currentIo();
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** A question with yes or no; anything but yes is no. */
export async function askYesOrNo(question: string): Promise<boolean> {
  currentIo().stderr.write(`wispr: ${question} [y/N] `);
  try {
    return /^y(?:es)?$/i.test((await readLine()).trim());
  } finally {
    currentIo().stdin.pause();
  }
}

/** A question whose answer shows while it is typed. */
export async function askLine(question: string): Promise<string> {
  currentIo().stderr.write(`wispr: ${question}: `);
  try {
    return (await readLine()).trim();
  } finally {
    currentIo().stdin.pause();
  }
}

/**
 * Asks for a yes to something that cannot be taken back.
 *
 * @param what - that needs it, such as `signing`
 * @param declined - what is said after a no
 * @throws UsageError after a no, and where there is no terminal to ask on
 */
export async function confirm(question: string, what: string, declined: string): Promise<void> {
  if (!canAsk())
    throw new UsageError(`${what} needs a yes, and there is no terminal to ask on`, 'add --yes to mean it');
  if (!(await askYesOrNo(question))) throw new UsageError(declined);
}

/**
 * A question whose answer is not shown.
 *
 * @throws UsageError if the person gives up
 */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = currentIo();
  stdin.setRawMode?.(true); // before the question is visible: what is typed earlier is shown
  stderr.write(`wispr: ${question}: `);
  try {
    return await readHidden();
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
    stderr.write('\n');
  }
}

/** Not by `node:readline`: after it, no secret can be asked for. */
async function readLine(): Promise<string> {
  let typed = '';
  for await (const text of currentIo().stdin.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    typed += text as string;
    if (ENTER.some((character) => typed.includes(character))) break;
  }
  return typed;
}

async function readHidden(): Promise<string> {
  let typed = '';
  // Without `destroyOnReturn`, leaving the loop would end standard input for the next question.
  for await (const text of currentIo().stdin.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    for (const character of text as string) {
      if (ENTER.includes(character)) return typed;
      if (GIVE_UP.includes(character)) throw new UsageError('given up');
      typed = ERASE.includes(character) ? typed.slice(0, -1) : typed + character;
    }
  }
  throw new UsageError('given up');
}

/** For the eyes of the person at the terminal, where there is one: what must not come into a log. */
export function showSecretly(lines: readonly string[]): void {
  for (const line of lines) currentIo().stderr.write(`wispr: ${line}\n`);
}
