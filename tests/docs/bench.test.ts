import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('npm run bench -- --help says what every row measures', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bench/main.ts', '--help'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  const [, rows = ''] = /const ROWS.*?= \{\n(.*?)\n\};/s.exec(readFileSync('bench/main.ts', 'utf8')) ?? [];
  const names = Array.from(rows.matchAll(/^ {2}'([a-z0-9-]+)':/gm), ([, name = '']) => name);
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) expect(stdout).toMatch(new RegExp(`^ {2}${name} {2,}\\w`, 'm'));
});
