/** The help of every command, in one voice. */
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/commands/index.ts';
import { EXAMPLES } from '../../cli/examples.ts';
import { pathOf } from '../../cli/io/usage-errors.ts';
import { createProgram } from '../../cli/run.ts';
import { runOnTerminal, runWispr } from '../support/wispr.ts';

const program = await createProgram(COMMANDS, []);
const all = below(program);
const paths = all.map(pathOf);

function below(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(below)];
}

const helpOf = async (path: string) => (await runWispr([...path.split(' ').slice(1), '--help'])).stdout;

describe('wispr --help', () => {
  it('shows each command once, by role, and the help of help for everybody', async () => {
    const groups = (await helpOf('wispr')).split('\n\n').slice(3, 7);
    expect(groups.map((group) => group.split('\n', 1)[0])).toEqual([
      'Publishers:',
      'Operators:',
      'Readers:',
      'Everybody:',
    ]);
    const names = groups.flatMap((group) => Array.from(group.matchAll(/^ {2}([a-z-]+)/gm), ([, name]) => name));
    expect(names).toEqual([...Object.keys(COMMANDS), 'help']);
  });

  it('has colours on a terminal, and none with NO_COLOR', async () => {
    const shown = async (env: NodeJS.ProcessEnv) =>
      (await runOnTerminal(['--help'], [], { cwd: process.cwd(), env: { ...process.env, ...env } })).shown;
    expect(await shown({ NO_COLOR: undefined })).toContain('\u001b[1mPublishers:\u001b[22m');
    expect(await shown({ NO_COLOR: '1' })).not.toContain('\u001b');
  });

  it('explains the options that commands share in one place', async () => {
    expect(await helpOf('wispr bind')).toMatch(/\nCommon options: wispr proxy --help\n/);
    expect(await helpOf('wispr bind')).not.toContain('--connect-to');
    expect(await helpOf('wispr proxy')).toMatch(/\nCommon options of readers:\n(?:.+\n)* +--connect-to <rule> /);
    expect((await helpOf('wispr admin')).match(/--config <file>/g)).toHaveLength(1);
  });

  it.each(paths)('%s: lower case, no full stop, in 80 columns', async (path) => {
    const help = await helpOf(path);
    const [, description = ''] = help.split('\n\n');
    expect(description).toMatch(/^[a-z][\s\S]*[^.]$/);
    expect(help.match(/<[^>]*[A-Z][^>]*>/g)).toBeNull();
    expect(help).not.toContain('(default: [])');
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('describes every argument, and says what is common in the same words', () => {
    const silent = all.filter(({ registeredArguments }) => registeredArguments.some(({ description }) => !description));
    expect(silent.map(pathOf)).toEqual([]);
    const secret = all.flatMap(({ options }) => options).filter(({ long }) => long === '--passphrase-file');
    expect(new Set(secret.map(({ description }) => description)).size).toBe(1);
  });
});

describe('examples', () => {
  it('are there for every command, and for nothing else', () => {
    expect(Object.keys(EXAMPLES).sort()).toEqual([...paths].sort());
  });

  it.each(Object.entries(EXAMPLES).flatMap(([path, examples]) => examples.map((each) => [each, path] as const)))(
    '%s',
    async (example, path) => {
      const fresh = await createProgram(COMMANDS, []);
      let ran: string | undefined;
      for (const command of below(fresh))
        command.exitOverride().action(() => {
          ran = pathOf(command);
        });
      const words = Array.from(example.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word);
      await fresh.parseAsync(
        words.slice(1).filter((word) => word !== '--help'),
        { from: 'user' },
      );
      expect(ran).toMatch(new RegExp(`^${path}\\b`));
    },
  );
});
