/** Runs tests/cli/scripts; tests/support/scripts/script.ts says what they are made of. */
import { globSync, readFileSync } from 'node:fs';
import { it } from 'vitest';
import { runScript } from '../support/scripts/run.ts';
import { parseScript } from '../support/scripts/script.ts';

const FOLDER = `${import.meta.dirname}/scripts`;

for (const file of globSync('*.txt', { cwd: FOLDER }).sort()) {
  const script = parseScript(file, readFileSync(`${FOLDER}/${file}`, 'utf8'));
  it(script.title, () => runScript(script));
}
