/** Programs of figures, and pages that state no result by hand. That the pages have the numbers of their results is for `npm run check` to say. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';

/** Settings, goals and numbers of papers: the other quantities are results, and come from their files. */
const BY_HAND: Readonly<Record<string, readonly string[]>> = {
  evaluation: [
    ...['300 ms', '3 times', '1.1 times', '750 ms', '10 %', '64 MiB', '95 %'],
    ...['1 KiB', '8 KiB', '100 KiB', '140 KB', '4 MiB', '75 %'],
  ],
  figures: ['24 GiB', '150 ms', '1 KiB', '64 KiB', '10 MiB'],
};

it('npm run evaluate -- --help says what every figure measures, and how long it takes', () => {
  const args = ['evaluation/main.ts', '--help'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  const [, figures = ''] =
    /const FIGURES.*?= \{\n(.*?)\n\};/s.exec(readFileSync('evaluation/figures.ts', 'utf8')) ?? [];
  const names = Array.from(figures.matchAll(/^ {2}'?([a-z0-9-]+)'?: \{/gm), ([, name = '']) => name);
  expect(names.length).toBeGreaterThan(6);
  for (const name of names) expect(stdout).toMatch(new RegExp(`^ {2}${name} {2,}\\w.*; \\d+ minutes`, 'm'));
});

it('npm run evaluate -- NAME sets nothing up where there is no such figure', () => {
  const options = { encoding: 'utf8', env: { PATH: dirname(process.execPath) } } as const; // setting up takes other programs
  const { status, stderr } = spawnSync(process.execPath, ['scripts/evaluate.mjs', 'nofigure'], options);
  expect([status, stderr]).toEqual([2, 'evaluate: no such figure: nofigure\n']);
});

it.each(Object.entries(BY_HAND))('docs/%s.md states no result by hand', (page, allowed) => {
  const text = readFileSync(`docs/${page}.md`, 'utf8')
    .replace(/<!--\sfigure:.*?<!--\s\/figure\s-->/gs, '')
    .replace(/`[^`]*`/g, '')
    .replaceAll(/\s+/g, ' ');
  const found = text.match(/\d[\d,.]* (?:[mµn]?s|[KMGT]i?B|bytes|times|cores|requests\/s|%)(?=\W|$)/g);
  expect([...new Set(found)].sort()).toEqual(allowed.toSorted());
});

it('a figure that cannot run is named with its reason, the next one has its turn, and the exit status says so', () => {
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const args = ['evaluation/main.ts', '--again', 'cost', 'scale'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', ...nobody });
  expect([status, stderr]).toEqual([
    3,
    'evaluate: cost cannot run here: it needs root\nevaluate: scale cannot run here: it needs root\n',
  ]);
});

it('evaluation/https/recordings.json has more than 30 pages, each of which loads whole from its first resource', () => {
  const text = readFileSync('evaluation/https/recordings.json', 'utf8');
  const { pages, types }: { pages: { name: string; hosts: string[]; resources: number[][] }[]; types: string[] } =
    JSON.parse(text);
  expect(pages.length).toBeGreaterThan(30);
  for (const { name, hosts, resources } of pages) {
    expect(resources[0]?.[0], name).toBe(-1);
    const faults = resources.slice(1).filter(([parent = -1, host = -1, type = -1, ...lengths], index) => {
      const isKnown = hosts[host] !== undefined && types[type] !== undefined;
      return !isKnown || parent < 0 || parent > index || lengths.length !== 4 || lengths.some((length) => length < 0);
    });
    expect(faults, name).toEqual([]);
  }
});
