/** Commands and options that the documentation names exist. */
import { globSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { COMMANDS } from '../../cli/commands/index.ts';
import packageJson from '../../package.json' with { type: 'json' };

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md')];

const program = new Command('wispr').option('-V, --version');
beforeAll(async () => {
  for (const add of Object.values(COMMANDS)) (await add())(program);
});

/** Returns the code of a page: lines of blocks, without comments, and pieces inside of lines. */
function codeIn(page: string): string[] {
  const text = readFileSync(page, 'utf8');
  const blocks = Array.from(text.matchAll(/^```(?:sh)?\n(.*?)^```$/gms), ([, block = '']) => block);
  const lines = blocks.flatMap((block) => block.split('\n')).map((line) => line.replace(/(^|\s)#.*$/, ''));
  const inline = Array.from(text.replace(/^```.*?^```$/gms, '').matchAll(/`([^`]+)`/g), ([, code = '']) => code);
  return [...lines, ...inline.map((code) => code.replaceAll(/\s+/g, ' '))];
}

/** The words behind `wispr`, for each time that it is called. */
function callsIn(code: string): string[][] {
  const calls = code.split(/[|;&()]+/).map((call) => /^\s*wispr (.*)$/.exec(call)?.[1] ?? '');
  return calls.filter((call) => /^[a-z-]/.test(call)).map((call) => call.trim().split(/\s+/));
}

const named = (command: Command) => command.options.flatMap(({ long, short }) => [long, short]);
const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];

function mistakesIn([...words]: string[]): string[] {
  let command = program;
  for (;;) {
    const next = command.commands.find((one) => one.name() === words[0]);
    if (next === undefined) break;
    command = next;
    words.shift();
  }
  if (command === program && !['--help', '--version'].includes(words[0] ?? '')) return [`no command "${words[0]}"`];
  const known = ['--help', '-h', ...named(program), ...named(command)];
  const options = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.replace(/[=,].*$/, ''));
  return options.filter((option) => !known.includes(option)).map((option) => `${command.name()} ${option}`);
}

describe.each(PAGES)('%s', (page) => {
  it('calls only commands that exist, with options that they have', () => {
    const calls = codeIn(page).flatMap(callsIn);
    const wrong = calls.map((words) => ({ call: words.join(' '), mistakes: mistakesIn(words) }));
    expect(wrong.filter(({ mistakes }) => mistakes.length > 0)).toEqual([]);
  });

  it('names only options that some command has', () => {
    const known = ['--help', '-h', ...all(program).flatMap(named)];
    const options = codeIn(page).flatMap((code) => /^--[a-z][a-z-]*(?= |$)/.exec(code)?.[0] ?? []);
    expect(options.filter((option) => !known.includes(option))).toEqual([]);
  });

  it('names only scripts of package.json', () => {
    const scripts = codeIn(page).flatMap((code) => /\bnpm run (?:--silent )?([a-z:]+)/.exec(code)?.[1] ?? []);
    expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
  });
});

it('the workflow hands on a built site with its hidden files, such as .well-known', () => {
  const { jobs } = parse(readFileSync('examples/ci/github.yml', 'utf8'));
  const uploads = jobs.check.steps.filter(({ uses = '' }) => uses.startsWith('actions/upload-artifact'));
  expect(uploads).toMatchObject([{ with: { 'include-hidden-files': true } }]);
});
