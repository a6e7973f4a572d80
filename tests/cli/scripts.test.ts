/** The command line: tests/cli/scripts. */
import { describe, expect, it } from 'vitest';
import { runScript, runScripts } from '../support/scripts/run.ts';
import { parseScript } from '../support/scripts/script.ts';

runScripts(`${import.meta.dirname}/scripts`);

describe('a script fails at the line where', () => {
  it.each([
    ['an exit code is another one', '! 2 wispr --version'],
    ['a command fails', 'wispr check nowhere'],
    ['output is missing', 'stdout xyzzy'],
    ['output is too much', '! stdout .'],
    ['no pattern is given', 'stdout'],
    ['one of two patterns does not fit', 'stdout Usage xyzzy'],
    ['a file is there', '! exists file'],
    ['a file is not there', 'exists nothing'],
    ['files differ', 'cmp file stdout'],
    ['a directory has more names', 'ls .'],
    ['a secret has been printed', 'secret Usage'],
    ['a verb is unknown', 'frobnicate'],
    ['a verb cannot be negated', '! wispr --help'],
    ['a variable is unknown', `stdout $${'{nothing}'}`],
    ['a quotation does not end', "stdout 'Usage"],
  ])('%s', async (_, line) => {
    const script = parseScript('x.txt', `# A title.\nwispr --help\nstdout Usage\n${line}\n-- file --\n`);
    await expect(runScript(script)).rejects.toThrow(`x.txt:4: ${line}`);
  });
});
