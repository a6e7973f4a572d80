/** The help of every command, in one voice. */
import { describe, expect, it } from 'vitest';
import { runWispr } from '../support/wispr.ts';

const ORDER =
  'init serve check protect publish verify inspect keys timestamp rollback withdraw keyserver admin invite proxy bind fetch sync identity cache-config demo licenses link';
const COMMANDS = ORDER.split(' ');
const SUBCOMMANDS = [
  'proxy status',
  'keys new-signer',
  'admin token',
  ...['show', 'protect', 'export', 'import', 'lock', 'unlock', 'forget'].map((name) => `identity ${name}`),
  'link near',
  'link far',
];

describe('wispr --help', () => {
  it('names the commands in the order of the work', async () => {
    const { stdout } = await runWispr(['--help']);
    const [, commands = ''] = stdout.split('Commands:\n');
    expect([...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name)).toEqual([...COMMANDS, 'help']);
  });

  it.each([...COMMANDS, ...SUBCOMMANDS])('%s: lower case, no full stop, in 80 columns', async (command) => {
    const { code, stdout } = await runWispr([...command.split(' '), '--help']);
    expect(code).toBe(0);
    const [, description = ''] = stdout.split('\n\n');
    expect(description).toMatch(/^[a-z][\s\S]*[^.]$/);
    expect(stdout.match(/<[^>]*[A-Z][^>]*>/g)).toBeNull();
    expect(stdout).not.toContain('(default: [])');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
