import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { openLocked } from '../../node-support/files/lock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MODULE = new URL('../../node-support/files/lock.ts', import.meta.url).href;

let file: string;
beforeEach(() => {
  file = join(temporaryFolder(), 'lock');
});

it('is held by one connection until it closes, through any transaction', () => {
  {
    using database = openLocked(file);
    expect(openLocked(file)).toBeUndefined();
    database?.exec('CREATE TABLE one (value); INSERT INTO one VALUES (1)');
    expect(openLocked(file)).toBeUndefined();
  }
  using again = openLocked(file);
  expect(again?.prepare('SELECT value FROM one').get()).toEqual({ value: 1 });
});

it('is released when its process is killed', async () => {
  const program = `const { openLocked } = await import(${JSON.stringify(MODULE)});
    globalThis.held = openLocked(${JSON.stringify(file)}); console.log('held'); setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  expect(openLocked(file)).toBeUndefined();
  holder.kill('SIGKILL');
  await once(holder, 'close');
  using again = openLocked(file);
  expect(again).toBeDefined();
});

it('makes a file for its owner only', () => {
  using _held = openLocked(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
