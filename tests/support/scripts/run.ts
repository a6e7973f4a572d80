/** Runs a script, and says in which of its lines it failed, and what was printed last. */
import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { Ended } from '../programs.ts';
import { CleanUp } from '../reader-rig.ts';
import { type Answers, leavePlace, type startInProcess } from '../wispr.ts';
import { PASSPHRASE } from '../workspace.ts';
import { parseScript, type Script, wordsOf } from './script.ts';
import { NEGATED, VERBS } from './verbs.ts';

/** A script that runs. */
export interface Run {
  folder: string;
  readonly cleanUp: CleanUp;
  readonly variables: Map<string, string | (() => Promise<string>)>;
  /** Fixtures that a script may close. */
  readonly services: Map<string, object>;
  /** The command that was started last. */
  running: Awaited<ReturnType<typeof startInProcess>> | undefined;
  env: NodeJS.ProcessEnv;
  /** Input of the next command: standard input, and what is typed on a terminal. */
  input: string;
  terminal: Answers | undefined;
  /** End of the last command. */
  last: Ended;
  /** Text that nothing may print. */
  readonly secrets: (string | RegExp)[];
  /** Text that was ever printed. */
  printed: string;
}

/** Makes each script in a folder a test. */
export function runScripts(folder: string): void {
  for (const file of globSync('*.txt', { cwd: folder }).sort()) {
    const script = parseScript(file, readFileSync(join(folder, file), 'utf8'));
    it(script.title, ({ signal }) => {
      signal.addEventListener('abort', leavePlace, { once: true });
      return runScript(script);
    });
  }
}

/** @throws Error that names the line which failed */
export async function runScript({ file, lines, files }: Script): Promise<void> {
  const cleanUp = new CleanUp();
  const around = await realpath(await mkdtemp(join(tmpdir(), 'wispr-script-')));
  cleanUp.add(() => rm(around, { recursive: true }));
  const [folder, passphrase] = [join(around, 'work'), join(around, 'passphrase')];
  await mkdir(folder);
  await writeFile(passphrase, PASSPHRASE, { mode: 0o600 });
  const run: Run = {
    folder,
    cleanUp,
    variables: new Map([
      ['dir', folder],
      ['as', `--passphrase-file ${passphrase}`],
    ]),
    services: new Map(),
    running: undefined,
    env: { ...process.env },
    input: '',
    terminal: undefined,
    last: { code: 0, stdout: '', stderr: '' },
    secrets: [],
    printed: '',
  };
  try {
    for (const [name, content] of files) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content, { mode: 0o600 });
    }
    for (const line of lines)
      await runLine(run, line.text).catch((error: unknown) => {
        throw failure(run, file, line, error);
      });
  } finally {
    await cleanUp.run();
  }
}

async function runLine(run: Run, text: string): Promise<void> {
  const words = await wordsOf(text, run.variables);
  const isNegated = words[0] === '!';
  const [name = '', ...args] = isNegated ? words.slice(1) : words;
  const isExit = isNegated && /^\d$/.test(name);
  const key = isExit ? 'exit' : name;
  const verb = VERBS[key];
  if (verb === undefined) throw new Error(`there is no verb ${name}`);
  if (isNegated && !NEGATED.includes(key)) throw new Error(`"!" says nothing before ${name}`);
  await verb(run, isExit ? [name, ...args] : args, isNegated);
  for (const secret of run.secrets) expect(run.printed, 'a secret was printed').not.toMatch(secret);
}

function failure({ last }: Run, file: string, { number, text }: Script['lines'][number], error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  const printed = `exit code ${last.code}\n--- stdout\n${last.stdout}--- stderr\n${last.stderr}`;
  const failed = new Error(`${file}:${number}: ${text}\n${message}\n${printed}`);
  failed.stack = failed.message; // the script is what is to be looked at
  return failed;
}
