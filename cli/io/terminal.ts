/** Questions to the person at the terminal. They go to standard error, like everything that is for people. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { currentIo } from './context.ts';
import { UsageError } from './voice.ts';

/** Tells whether questions can be asked: standard input and standard error are a terminal. */
export function canAsk(): boolean {
  const { stdin, stderr } = currentIo();
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** A question with yes or no; anything but yes is no. @throws UsageError if the person gives up */
export async function askYesOrNo(question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await ask(`wispr: ${question} [y/N] `)).trim());
}

/** A question whose answer shows while it is typed. @throws UsageError if the person gives up */
export async function askLine(question: string): Promise<string> {
  return (await ask(`wispr: ${question}: `)).trim();
}

/**
 * Asks for a yes to something that cannot be taken back.
 *
 * @param what - act that needs it, such as `signing`
 * @param declined - what is said after a no
 * @param remedy - where there is no terminal
 * @throws UsageError after a no, and where there is no terminal to ask on
 */
export async function confirm(
  question: string,
  what: string,
  declined: string,
  remedy = 'add --yes to mean it',
): Promise<void> {
  if (!canAsk()) throw new UsageError(`${what} needs a yes, and there is no terminal to ask on`, remedy);
  if (!(await askYesOrNo(question))) throw new UsageError(declined);
}

/**
 * Asks for a yes to each site that is to be connected.
 *
 * @param remedy - where there is no terminal
 * @returns those with a yes
 * @throws UsageError where there is no terminal to ask on, or the person gives up
 */
export async function confirmSites(sites: readonly string[], remedy: string): Promise<string[]> {
  if (sites.length > 0 && !canAsk())
    throw new UsageError(`connecting ${sites.join(', ')} needs a yes, and there is no terminal to ask on`, remedy);
  const confirmed: string[] = [];
  for (const site of sites) if (await askYesOrNo(`connect ${site}?`)) confirmed.push(site);
  return confirmed;
}

/** A question whose answer is not shown. @throws UsageError if the person gives up */
export async function askSecret(question: string): Promise<string> {
  return ask(`wispr: ${question}: `, 'hidden');
}

/** Keys edit the line as everywhere on a terminal; Ctrl-C, and the end of input, give up. */
async function ask(prompt: string, answer: 'shown' | 'hidden' = 'shown'): Promise<string> {
  const { stdin, stderr } = currentIo();
  const output = answer === 'shown' ? stderr : new Writable({ write: (_, __, done) => done() });
  const reader = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
  const givenUp = new AbortController();
  for (const event of ['SIGINT', 'close'] as const) reader.once(event, () => givenUp.abort());
  try {
    const answered = reader.question(answer === 'shown' ? prompt : '', { signal: givenUp.signal });
    if (answer === 'hidden') stderr.write(prompt); // shown at a time when the terminal hides what is typed
    return await answered;
  } catch (cause) {
    throw new UsageError('given up', undefined, { cause });
  } finally {
    reader.close();
    if (answer === 'hidden') stderr.write('\n');
  }
}

/** Shows the person at the terminal, where there is one, what must not come into a log. */
export function showSecretly(lines: readonly string[]): void {
  for (const line of lines) currentIo().stderr.write(`wispr: ${line}\n`);
}
