/** CONTRIBUTING.md says where everything is, and why each dependency is there. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import runtime from '../../runtime/package.json' with { type: 'json' };
import { PARTS, partsOf } from '../../scripts/test-release.ts';

const page = readFileSync('CONTRIBUTING.md', 'utf8');

it('the package runs no script where it is installed: set-up is for clones', () => {
  const run = ['preinstall', 'install', 'postinstall', 'preprepare', 'prepare', 'postprepare'];
  expect(Object.keys(packageJson.scripts).filter((name) => run.includes(name))).toEqual([]);
  expect(packageJson.scripts).toHaveProperty('prepublish'); // `npm ci` runs it in a clone only
});

describe('CONTRIBUTING.md', () => {
  it('gives a reason for every dependency, and for no other package', () => {
    const [, table = ''] = /## Dependencies(.*?)\n## /s.exec(page) ?? [];
    const cells = [...table.matchAll(/^\| (`.*?|\*development:\* .*?) \|/gm)].map(([, cell = '']) => cell);
    const listed = cells.flatMap((cell) => [...cell.matchAll(/`([^`…]+)`/g)].map(([, name]) => name));
    const used = Object.keys({
      ...packageJson.dependencies,
      ...runtime.optionalDependencies,
      ...packageJson.devDependencies,
    });
    expect(listed.sort()).toEqual(used.filter((name) => !name.startsWith('@types/')).sort());
  });

  it('names every folder, and no other', () => {
    const [, tree = ''] = /## Where things live\s+```\n(.*?)```/s.exec(page) ?? [];
    const listed = tree
      .split('\n')
      .flatMap((line) =>
        [...(/^(?:[a-z-]+\/ *)+/.exec(line)?.[0].matchAll(/[a-z-]+(?=\/)/g) ?? [])].map(([name]) => name),
      );
    const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n');
    const folders = new Set(files.filter((file) => /^[a-z]+.*\//.test(file)).map((file) => file.split('/')[0]));
    expect(listed.sort()).toEqual([...folders].sort());
  });

  it('lists the parts of the release tier, with their minutes', () => {
    const [, section = ''] = /## Two tiers of tests(.*?)## /s.exec(page) ?? [];
    const listed = Array.from(section.matchAll(/^\| ([a-z]+) \| ([\d.]+|by hand) \|/gm), ([, name, minutes]) => [
      name,
      minutes,
    ]);
    expect(listed).toEqual(PARTS.map(({ name, minutes, onlyByHand }) => [name, onlyByHand ? 'by hand' : `${minutes}`]));
  });

  it('says of every folder of the release tier which part runs it', () => {
    const folders = readdirSync('tests/release', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(PARTS.map(({ name }) => name)).toEqual(expect.arrayContaining(folders.map(({ name }) => name)));
  });

  it.each([
    [['keyserver/server.ts'], ['postgres', 'kills', 'load']],
    [['tests/release/single/single.test.ts'], ['single']],
    [['core/errors.ts'], PARTS.map(({ name }) => name)],
  ])('names the parts that a change of %j decides about', (changed, parts) => {
    expect(partsOf(changed).map(({ name }) => name)).toEqual(expect.arrayContaining(parts));
  });
});
