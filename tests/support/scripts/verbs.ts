/**
 * The verbs of scripts. `!` in front of a verb that looks at something says that it is not so. Patterns are regular expressions, `^` and `$` those of
 * a line; several patterns on a line all have to fit.
 */
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { expect } from 'vitest';
import { expectOneVoice } from '../one-voice.ts';
import type { Ended } from '../programs.ts';
import { runOnTerminal, runWispr } from '../wispr.ts';
import { snapshot } from '../workspace.ts';
import { FIXTURES } from './fixtures.ts';
import type { Run } from './run.ts';

/** @throws for what is not as expected */
export type Verb = (run: Run, args: readonly string[], isNegated: boolean) => unknown;

/** Resolves a name in the folder of the script. */
const at = ({ folder }: Run, name = '.') => resolve(folder, name);

async function runCommand(run: Run, args: readonly string[], code: number): Promise<void> {
  const { input, terminal, env, folder: cwd } = run;
  run.input = '';
  run.terminal = undefined;
  keep(run, await (terminal ? onTerminal() : runWispr(args, { cwd, env, input })));
  expect(run.last.code, 'exit code').toBe(code);
  if (code === 2 && !terminal) expect(run.last.stdout).toBe('');

  async function onTerminal(): Promise<Ended> {
    const { code, shown } = await runOnTerminal(args, terminal ?? [], { cwd, env });
    return { code, stdout: shown, stderr: '' };
  }
}

function keep(run: Run, ended: Ended): void {
  run.last = ended;
  run.printed += ended.stdout + ended.stderr;
  expectOneVoice(ended);
}

/** Reads what `stdout`, `stderr` and other words stand for: the last command's output, a file, or the names in a directory. */
async function textOf(run: Run, name: string): Promise<string> {
  if (name === 'stdout' || name === 'stderr') return run.last[name];
  return (await isDirectory(run, name)) ? (await readdir(at(run, name))).join('\n') : readFile(at(run, name), 'utf8');
}

const isDirectory = async (run: Run, name: string) =>
  name !== 'stdout' && name !== 'stderr' && (await stat(at(run, name))).isDirectory();

async function looksFor(run: Run, name: string, patterns: readonly string[], isNegated: boolean): Promise<void> {
  const text = await textOf(run, name);
  expect(patterns).not.toEqual([]);
  for (const pattern of patterns)
    expect(new RegExp(pattern, 'm').test(text), `${name} ${isNegated ? 'fits' : 'does not fit'} ${pattern}`).toBe(
      !isNegated,
    );
}

/** A file as text, a directory as all files in it. */
async function contentOf(run: Run, name: string): Promise<unknown> {
  return (await isDirectory(run, name)) ? snapshot(at(run, name)) : textOf(run, name);
}

const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  );

/** JSON, `/a pattern/`, or a word as it is. */
function expected(value: string): unknown {
  const [, pattern] = /^\/(.*)\/$/s.exec(value) ?? [];
  if (pattern !== undefined) return expect.stringMatching(new RegExp(pattern));
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function memberOf(value: unknown, path: string): unknown {
  return path
    .split('.')
    .filter(Boolean)
    .reduce((found, name) => (found as Record<string, unknown> | undefined)?.[name], value);
}

/** Verbs before which `!` may stand. */
export const NEGATED = ['exit', 'stdout', 'stderr', 'grep', 'json', 'cmp', 'exists', 'device'];

export const VERBS: Readonly<Record<string, Verb>> = {
  ...FIXTURES,

  /** `wispr ARG...`: has to exit with 0. */
  wispr: (run, args) => runCommand(run, args, 0),
  /** `! N wispr ARG...`: has to exit with N; with 2 it prints nothing on standard output. */
  exit: (run, [code, , ...args]) => runCommand(run, args, Number(code)),
  /** `stdin FILE`: what the next command reads. */
  stdin: async (run, [file = '']) => {
    run.input = await textOf(run, file);
  },
  /** `typed [QUESTION ANSWER]...`: the next command runs on a terminal, and is answered; `stdout` is all that it showed. `^C` gives up, `^?` takes a letter back. */
  typed: (run, words) => {
    const keys = (text: string) => `${text}\r`.replace(/\^C\r$/, '\u0003').replaceAll('^?', '\u007f');
    run.terminal = words.flatMap((question, index) =>
      index % 2 === 0 ? [[question, keys(words[index + 1] ?? '')] as const] : [],
    );
  },
  /** `secret TEXT...`: nothing may print it from now on, nor have printed it. */
  secret: ({ secrets }, texts) => secrets.push(...texts),

  /** `stdout PATTERN...`. */
  stdout: (run, patterns, isNegated) => looksFor(run, 'stdout', patterns, isNegated),
  /** `stderr PATTERN...`. */
  stderr: (run, patterns, isNegated) => looksFor(run, 'stderr', patterns, isNegated),
  /** `grep FILE PATTERN...`. */
  grep: (run, [file = '', ...patterns], isNegated) => looksFor(run, file, patterns, isNegated),
  /** `json PATH VALUE`: a member of the JSON on standard output, named by names and numbers with dots between; objects may have more than VALUE has. `! json PATH`: there is none. */
  json: ({ last }, [path = '', value = ''], isNegated) => {
    const found = memberOf(JSON.parse(last.stdout), path);
    if (isNegated) expect(found, path).toBeUndefined();
    else expect({ found }).toMatchObject({ found: expected(value) });
  },
  /** `cmp A B`: two files, two directories, or `stdout`, are the same. */
  cmp: async (run, [a = '', b = ''], isNegated) => {
    const [one, other] = [await contentOf(run, a), await contentOf(run, b)];
    if (isNegated) expect(one).not.toEqual(other);
    else expect(one).toEqual(other);
  },
  /** `starts FILE stdout`: standard output is the beginning of a file, and not all of it. */
  starts: async (run, [file = '']) => {
    const [whole, start] = [await textOf(run, file), run.last.stdout];
    expect(start.length).toBeLessThan(whole.length);
    expect(whole.startsWith(start)).toBe(true);
  },
  /** `size FILE MEMBER`: the JSON on standard output says how long it is. */
  size: async (run, [file = '', member = '']) =>
    expect(JSON.parse(run.last.stdout)[member]).toBe((await stat(at(run, file))).size),
  /** `exists FILE...`. */
  exists: async (run, files, isNegated) => {
    for (const file of files) expect(await exists(at(run, file)), file).toBe(!isNegated);
  },
  /** `ls DIRECTORY [NAME]...`: these names are in it, and no others. */
  ls: async (run, [directory, ...names]) =>
    expect((await readdir(at(run, directory))).sort()).toEqual([...names].sort()),
  /** `mode 600 FILE...`. */
  mode: async (run, [mode, ...files]) => {
    for (const file of files) expect(((await stat(at(run, file))).mode & 0o777).toString(8), file).toBe(mode);
  },

  /** `chmod 640 FILE`. */
  chmod: (run, [mode = '', file]) => chmod(at(run, file), Number.parseInt(mode, 8)),
  /** `write FILE TEXT`. */
  write: async (run, [file = '', text = '']) => {
    await mkdir(dirname(at(run, file)), { recursive: true });
    await writeFile(at(run, file), text, { mode: 0o600 });
  },
  /** `replace FILE PATTERN TEXT`: at the first place that fits. */
  replace: async (run, [file = '', pattern = '', text = '']) => {
    const before = await readFile(at(run, file), 'utf8');
    const after = before.replace(new RegExp(pattern, 'm'), () => text);
    expect(after, `${pattern} is nowhere in ${file}`).not.toBe(before);
    await writeFile(at(run, file), after);
  },
  /** `cut FILE BYTES`: so many bytes of it stay; with a minus, so many go from its end. */
  cut: async (run, [file = '', bytes]) =>
    writeFile(at(run, file), (await readFile(at(run, file))).subarray(0, Number(bytes))),
  /** `slice FROM FIRST END TO`: a part of a file, in another one. */
  slice: async (run, [from, first, end, to]) =>
    writeFile(at(run, to), (await readFile(at(run, from))).subarray(Number(first), Number(end))),
  /** `mkdir DIRECTORY...`. */
  mkdir: async (run, names) => {
    for (const name of names) await mkdir(at(run, name), { recursive: true });
  },
  /** `rm NAME...`: files, and directories with all that is in them. */
  rm: async (run, names) => {
    for (const name of names) await rm(at(run, name), { recursive: true });
  },
  /** `cp FROM TO`: a file, or a directory with all that is in it; FROM may be `stdout`. */
  cp: async (run, [from = '', to = '']) =>
    from === 'stdout'
      ? writeFile(at(run, to), run.last.stdout)
      : cp(at(run, from), at(run, to), { recursive: true, preserveTimestamps: true }),
  /** `mv FROM TO`. */
  mv: (run, [from, to]) => rename(at(run, from), at(run, to)),

  /** `cd DIRECTORY`: where commands run and names begin from now on. */
  cd: (run, [directory]) => {
    run.folder = at(run, directory);
  },
  /** `env NAME=VALUE...`: in the environment of commands. */
  env: (run, settings) => {
    for (const setting of settings) {
      const [, name = '', value = ''] = /^(\w+)=(.*)$/s.exec(setting) ?? [];
      run.env = { ...run.env, [name]: value };
    }
  },
  /** `let NAME FILE PATTERN`: a variable; the first group of the pattern, in a file, `stdout` or `stderr`. `let NAME = TEXT`. */
  let: async (run, [name = '', file = '', pattern = '']) => {
    if (file === '=') return run.variables.set(name, pattern);
    const [, found] = new RegExp(pattern, 'm').exec(await textOf(run, file)) ?? [];
    if (found === undefined) throw new Error(`${pattern} is nowhere in ${file}`);
    return run.variables.set(name, found);
  },
};
