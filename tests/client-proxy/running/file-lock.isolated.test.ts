/** The lock of a Reader's whereabouts, where somebody removes the file at the very moment in which it is made. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FileLock, lockState } from '../../../client-proxy/running/file-lock.ts';
import { CleanUp, temporaryFolder } from '../../support/reader-rig.ts';

/** What happens between two steps of taking the lock. */
const between = vi.hoisted(() => ({ made: () => undefined as unknown, locked: () => undefined as unknown }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>();
  return {
    ...real,
    closeSync: (descriptor: number) => {
      real.closeSync(descriptor);
      between.made();
    },
    existsSync: (path: string) => {
      between.locked();
      return real.existsSync(path);
    },
  };
});

const cleanUp = new CleanUp();
let path: string;
beforeEach(async () => {
  path = join(await temporaryFolder(cleanUp), 'reader.lock');
});
afterEach(async () => {
  Object.assign(between, { made: () => undefined, locked: () => undefined });
  await cleanUp.run();
});

it('a lock is one: others see that it is taken, and afterwards that it is not', () => {
  const lock = FileLock.take(path);
  expect(lockState(path, () => undefined)).toBe('running');
  lock?.close();
  expect(lockState(path, () => undefined)).toBe('ended');
});

it.each(['made', 'locked'] as const)('a file that goes as soon as it is %s is no lock, and no failure', (when) => {
  between[when] = () => rmSync(path, { force: true });
  expect(FileLock.take(path)).toBeUndefined();
  between[when] = () => undefined;
  expect(existsSync(path)).toBe(false); // nor made anew
});

it('one that has no room is said to be that, and not the database', () => {
  between.made = () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, open'), { code: 'ENOSPC', syscall: 'open' });
  };
  const message = 'the disk is full: the file that says that a Reader runs cannot be written';
  const hint = `make room on the disk on which ${path} lies`;
  expect(() => FileLock.take(path)).toThrow(expect.objectContaining({ code: 'disk-full', message, hint }));
});
