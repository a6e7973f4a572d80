/** CONTRIBUTING.md says where everything is, and why each dependency is there. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

const page = readFileSync('CONTRIBUTING.md', 'utf8');

describe('CONTRIBUTING.md', () => {
  it('gives a reason for every dependency, and for no other package', () => {
    const [, table = ''] = /## Dependencies(.*)/s.exec(page) ?? [];
    const cells = [...table.matchAll(/^\| (`.*?|\*development:\* .*?) \|/gm)].map(([, cell = '']) => cell);
    const listed = cells.flatMap((cell) => [...cell.matchAll(/`([^`…]+)`/g)].map(([, name]) => name));
    const used = Object.keys({
      ...packageJson.dependencies,
      ...packageJson.optionalDependencies,
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
});
