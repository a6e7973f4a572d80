/** Hints that the command line adds to errors by their code. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { hintFor } from '../../cli/hints.ts';
import { READING_HINTS, readingHint } from '../../cli/reading-hints.ts';
import { typedPlaces, withPlaces } from '../../cli/typed-places.ts';

const documented = [...readFileSync('docs/errors.md', 'utf8').matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(
  ([, code = '']) => code,
);
const named = [...readFileSync('cli/hints.ts', 'utf8').matchAll(/^ {2}'?([a-z-]+)'?: '/gm)].map(
  ([, code = '']) => code,
);

describe('the hints of the command line', () => {
  it('are for codes that exist', () => {
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((code) => !documented.includes(code))).toEqual([]);
  });

  it.each(named)('say what to do about %s in lower case, without a full stop', (code) => {
    expect(hintFor(code)).toMatch(/^[a-z].*[^.]$/);
  });

  it('are none for what nobody can do anything about', () => {
    expect(hintFor('usage')).toBeUndefined();
    expect(hintFor('toString')).toBeUndefined();
  });
});

describe.each(['fetch', 'sync'] as const)('the hints of wispr %s', (command) => {
  const codes = Object.keys(READING_HINTS[command]);

  it('are for codes that exist', () => {
    expect(codes.length).toBeGreaterThan(40);
    expect(codes.filter((code) => !documented.includes(code))).toEqual([]);
  });

  it.each(codes)('say what to do about %s in lower case, without a full stop', (code) => {
    expect(readingHint(command, code)).toMatch(/^[a-z].*[^.]$/);
  });

  it('are for readers: not to copy a file again that somebody else has', () => {
    for (const code of ['object-truncated', 'head-length', 'carrier-malformed', 'object-unrecognised'])
      expect([code, readingHint(command, code)]).not.toEqual([code, hintFor(code)]);
    expect(readingHint(command, 'clock-behind')).toBe(hintFor('clock-behind'));
    expect(readingHint(command, 'toString')).toBeUndefined();
  });
});

/** What the hint becomes after this was typed. */
async function completed(hint: string, ...words: string[]): Promise<string> {
  const program = new Command('wispr');
  let result = 'nothing was run';
  program.hook('preAction', (_, action) => {
    const places = typedPlaces(action);
    result = places ? withPlaces(hint, places) : hint;
  });
  for (const name of ['publish', 'protect', 'check', 'admin'])
    program
      .command(name)
      .argument('[place]')
      .option('-c, --config <file>')
      .option('--out <dir>')
      .action(() => undefined);
  const keys = program.command('keys');
  keys
    .command('add')
    .argument('<role>')
    .option('-c, --config <file>')
    .action(() => undefined);
  await program.parseAsync(words, { from: 'user' });
  return result;
}

describe('commands in hints', () => {
  it.each([
    ['run "wispr publish" again', ['publish', '../srv'], 'run "wispr publish ../srv" again'],
    ['"wispr publish --yes"', ['publish', 's3://b/x', '-c', 'a b'], `"wispr publish --yes s3://b/x -c 'a b'"`],
    ['"wispr protect", "wispr publish"', ['publish', 'x'], '"wispr protect", "wispr publish x"'],
    [
      '"wispr protect", "wispr publish"',
      ['protect', 'x', '--out', 'y'],
      '"wispr protect --out y -c x", "wispr publish -c x"',
    ],
    [
      '"wispr keys list"; "wispr check"',
      ['keys', 'add', 'root', '-c', 'x'],
      '"wispr keys list -c x"; "wispr check -c x"',
    ],
    ['"wispr keys sign F" and "wispr verify URL"', ['check', 'x'], '"wispr keys sign F" and "wispr verify URL"'],
    ['the publisher runs "wispr protect"', ['admin', '-c', 'keyserver.json'], 'the publisher runs "wispr protect"'],
    ['run "wispr publish"', ['publish', "it's\n"], `run "wispr publish 'it'\\''s\\u{a}'"`],
  ])('%j after %j name the same places', async (hint, words, expected) => {
    expect(await completed(hint, ...words)).toBe(expected);
  });
});
