/** Manual pages and completion say what the commands take. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { escaped, everyCommand, manual } from '../../scripts/manual.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';

const program = await everyCommand();
const folder = temporaryFolder();

it('has a page for each command, with the options of all that is in it', () => {
  const files = manual(program);
  for (const name of program.commands.map((each) => each.name()))
    expect(files.get(`wispr-${name}.1`)).toContain(`.B wispr ${escaped(name)}\n`);
  expect(files.get('wispr-admin.1')).toMatch(/\.SH WISPR ADMIN BACKUP\n.*\n\.B \\-\\-daily <dir>\n/s);
  expect(files.get('wispr.1')).toContain('.B wispr admin\nmanage publisher');
});

it('reads every character as itself', () => {
  expect(escaped('.a\n  .b')).toBe('\\&.a\n\\&.b');
  expect(escaped("a-b\\c 'd'")).toBe('a\\-b\\ec \\(aqd\\(aq');
});

it('shows the examples of each command', () => {
  const files = manual(program);
  expect(files.get('wispr-init.1')).toMatch(/\.nf\nwispr init https:.*\nwispr init .*\\-\\-serverless\n\.fi\n/);
  expect(files.get('wispr-admin.1')).toContain('.nf\nwispr admin backup');
});

it.each([
  [['wispr', 'ident'], ['identity']],
  [['wispr', 'admin', 'back'], ['backup']],
  [['wispr', '--flag', 'admin', 'backup', '--d'], ['--daily']],
  [['wispr', 'admin', 'backup', '--daily', ''], []],
])('bash completes %j', (words, expected) => {
  const file = join(folder, 'completion');
  writeFileSync(file, manual(program).get('wispr.bash') ?? '');
  const script = `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _wispr; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const said = execFileSync('bash', ['-uc', script, file, ...words], { encoding: 'utf8' });
  expect(said.split('\n').filter(Boolean)).toEqual(expected);
});
