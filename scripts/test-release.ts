/**
 * `npm run test:release`: what is too long for every change, part by part. `-- PART…` runs those, `-- --all` also the one that
 * writes into the docs, `-- --changed REV` those whose sources changed since REV. Exit code 1 if a part fails; every part runs all the same.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runWhereOthersEnter } from './enterable.ts';

/** A part of the release tier; CONTRIBUTING.md says what it shows that `npm test` does not. */
export interface Part {
  readonly name: string;
  /** Minutes on two cores with nothing else running. */
  readonly minutes: number;
  /** Prefixes of the paths that decide about it; its tests, `core/` and `node-support/` do for each. */
  readonly sources: readonly string[];
  /** Left out unless named or with `--all`. */
  readonly onlyByHand?: true;
  /** Paths of tests, as Vitest takes them; the folder `tests/release/NAME` if left out. */
  readonly tests?: readonly string[];
  /** Run by Node.js in place of Vitest. */
  readonly script?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Names of failed tests, which Vitest appends (tests/support/suite.ts) and the end shows: CI keeps the end of the output. */
const FAILURES = '.cache/test-failures.txt';
const FOR_VITEST = { WISPR_TIER: 'release', WISPR_TEST_FAILURES: FAILURES };

const PROGRAMS = ['publisher/', 'client-proxy/', 'keyserver/'];

export const PARTS: readonly Part[] = [
  { name: 'sites', minutes: 3, sources: [...PROGRAMS, 'web-reader/', 'cache-config/', 'docs/', 'README.md'] },
  {
    name: 'caches',
    minutes: 2,
    sources: ['cache-config/', 'client-proxy/'],
    tests: ['tests/release/caches/', 'tests/cache-config/'],
  },
  {
    name: 'pages',
    minutes: 4,
    sources: ['reading/', 'web-reader/', 'serve/', ...PROGRAMS],
    tests: ['tests/release/pages/', 'tests/e2e/', 'tests/reading/', 'gateway/browser', 'reading-origins'],
  },
  { name: 'browsers', minutes: 1, sources: ['web-reader/', 'keyserver/'], tests: ['tests/browsers/'] },
  { name: 'postgres', minutes: 1, sources: ['keyserver/'] },
  {
    name: 'kills',
    minutes: 2,
    sources: PROGRAMS,
    tests: ['tests/release/kills/', 'keyserver/processes', 'publisher/protect-failures', 'publisher/publish-part'],
  },
  {
    name: 'load',
    minutes: 1,
    sources: ['client-proxy/', 'keyserver/'],
    tests: ['tests/release/load/', 'client-proxy/opening'],
  },
  { name: 'day', minutes: 3, sources: [...PROGRAMS, 'cli/'] },
  {
    name: 'service',
    minutes: 1,
    sources: ['client-proxy/', 'keyserver/', 'cli/', 'docs/deploy.md', 'docs/operations.md'],
  },
  { name: 'debian', minutes: 3, sources: ['packaging/', 'scripts/', 'cli/', 'keyserver/'] },
  {
    name: 'package',
    minutes: 1,
    sources: [...PROGRAMS, 'web-reader/', 'serve/', 'bin/', 'cli/', 'scripts/', 'package'],
  },
  { name: 'single', minutes: 2, sources: ['cli/', 'keyserver/', 'publisher/', 'scripts/', 'package'] },
  {
    name: 'generators',
    minutes: 2,
    sources: ['publisher/', 'web-reader/', 'client-proxy/', 'tests/generators/', 'examples/ci/'],
  },
  {
    name: 'applications',
    minutes: 4,
    sources: [...PROGRAMS, 'web-reader/', 'tests/applications/', 'docs/compatibility.md'],
  },
  {
    name: 'properties',
    minutes: 2,
    sources: [...PROGRAMS, 'link/'],
    tests: ['propert', 'fuzz', 'fallback-page.test'],
    environment: { WISPR_FUZZ: '10000' },
  },
  {
    name: 'mutations',
    minutes: 5,
    sources: [...PROGRAMS, 'web-reader/'],
    script: 'scripts/mutations.ts',
  },
  {
    name: 'matrix',
    minutes: 0,
    sources: ['cache-config/'],
    onlyByHand: true,
    tests: ['tests/release/caches/matrix'],
    environment: { WISPR_CACHES: 'whole' },
  },
];

/** The parts that a change of these files decides about. */
export function partsOf(changed: readonly string[]): Part[] {
  return PARTS.filter(({ name, sources }) => {
    const prefixes = [
      ...sources,
      `tests/release/${name}/`,
      'tests/support/',
      'core/',
      'node-support/',
      'httpcrypt/',
      'teaser/',
      'words/',
      'package',
    ];
    return changed.some((file) => prefixes.some((prefix) => file.startsWith(prefix)));
  });
}

function chosen(): readonly Part[] {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { all: { type: 'boolean' }, changed: { type: 'string' } },
  });
  const unknown = positionals.filter((name) => !PARTS.some((part) => part.name === name));
  if (unknown.length > 0)
    throw new Error(`no part ${unknown.join(', ')}; there are ${PARTS.map(({ name }) => name).join(', ')}`);
  if (positionals.length > 0) return PARTS.filter(({ name }) => positionals.includes(name));
  if (values.changed !== undefined) return partsOf(changedSince(values.changed));
  return PARTS.filter(({ onlyByHand }) => values.all || !onlyByHand);
}

function changedSince(revision: string): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
  return [...git('diff', '--name-only', revision), ...git('ls-files', '--others', '--exclude-standard')];
}

/** @returns whether it passed */
function run({ name, tests = [`tests/release/${name}/`], script, environment }: Part): boolean {
  const [command, args] = script ? [process.execPath, [script]] : ['vitest', ['run', ...tests]];
  const env = { ...process.env, ...environment, ...(!script && FOR_VITEST) };
  return runWhereOthersEnter(command, args, env) === 0;
}

if (import.meta.main) {
  const lines: string[] = [];
  writeFileSync(FAILURES, '');
  for (const part of chosen()) {
    const start = performance.now();
    const passed = run(part);
    if (!passed) process.exitCode = 1;
    const minutes = ((performance.now() - start) / 60_000).toFixed(1).padStart(5);
    lines.push(`${minutes} min  ${part.name.padEnd(10)}  ${passed ? 'passed' : 'FAILED'}`);
  }
  process.stdout.write(`\n${lines.join('\n')}\n${readFileSync(FAILURES, 'utf8')}`);
}
