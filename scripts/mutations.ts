/**
 * `npm run test:release -- mutations`, or `node scripts/mutations.ts N…`: for each check in tests/mutations/checks.ts (of the rows N), runs the tests of its rows on a copy of the
 * sources without the check. Prints what survives; exit code 1 if a check can be taken out unnoticed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MUTATIONS, type Mutation } from '../tests/mutations/checks.ts';

const ROOT = join(import.meta.dirname, '..');
/** Folders that set-up installs and builds; the copy shares them. */
const INSTALLED = ['node_modules', '.cache', 'dist'];

/** Scripts of commands, and the test file that runs each as a test with its first line as title. */
const RUNS_SCRIPTS: Readonly<Record<string, string>> = {
  'tests/cli/scripts/': 'tests/cli/scripts.test.ts',
  'tests/keyserver/scripts/': 'tests/keyserver/commands.test.ts',
};

const rows = process.argv.slice(2).map(Number);
const wanted = MUTATIONS.filter(({ attacks }) => rows.length === 0 || attacks.some((row) => rows.includes(row)));
const files = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((file) => existsSync(join(ROOT, file)) && file !== '');
const copy = mkdtempSync(join(tmpdir(), 'wispr-mutations-'));
process.once('SIGINT', () => process.exit(1));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
copySources();

const attacked = [...new Set(wanted.flatMap(({ attacks }) => attacks))];
const failure = failureOf(attacked);
if (failure !== undefined) throw new Error(`tests of these rows fail with all checks in place:\n${failure}`);

let unexpected = 0;
for (const [index, mutation] of wanted.entries()) {
  const failed = testsFailWithout(mutation);
  const expected = failed === (mutation.redundant === undefined);
  if (!expected) unexpected++;
  const outcome = failed
    ? 'noticed'
    : mutation.redundant === undefined
      ? 'SURVIVES'
      : `redundant: ${mutation.redundant}`;
  const row = mutation.attacks.join(', ');
  process.stdout.write(
    `${index + 1}/${wanted.length}  attack ${row}  ${mutation.file}  ${mutation.find.trim()}\n  ${outcome}\n`,
  );
}
process.stdout.write(`${wanted.length} checks, ${unexpected} not as listed\n`);
process.exitCode = unexpected > 0 ? 1 : 0;

/** Tells whether a test decides about each change: the release tier finds more, but those have to hold a check. */
function isOfNpmTest(name: string): boolean {
  return name.endsWith('.test.ts') && !/^tests\/(?:release|browsers)\//.test(name);
}

/** The file that runs a script of commands; any other runs itself. */
function testFileOf(name: string): string {
  const folder = Object.keys(RUNS_SCRIPTS).find((scripts) => name.startsWith(scripts) && name.endsWith('.txt'));
  return folder === undefined ? name : (RUNS_SCRIPTS[folder] ?? name);
}

function copySources(): void {
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(ROOT, file), join(copy, file), { force: true });
  }
  for (const folder of INSTALLED) symlinkSync(join(ROOT, folder), join(copy, folder));
}

function testsFailWithout({ attacks, file, find, replace }: Mutation): boolean {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    source.replace(find, () => replace),
  );
  try {
    return failureOf(attacks) !== undefined;
  } finally {
    writeFileSync(path, source);
  }
}

/** Returns what Vitest says of the first test that fails; `undefined` if all pass. */
function failureOf(attacks: readonly number[]): string | undefined {
  const title = `attack (${attacks.join('|')})\\b`;
  const fitting = files.filter((name) => new RegExp(title).test(readFileSync(join(copy, name), 'utf8')));
  const about = [...new Set(fitting.map(testFileOf))].filter(isOfNpmTest);
  if (about.length === 0) throw new Error(`no test has "attack ${attacks.join(' or ')}" in its title`);
  const vitest = join(copy, 'node_modules/.bin/vitest');
  const run = spawnSync(vitest, ['run', '--bail', '1', '-t', title, ...about], { cwd: copy, encoding: 'utf8' });
  return run.status === 0 ? undefined : run.stderr;
}
