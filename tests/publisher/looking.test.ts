/** A look at a target for a while: the looking has an end, and what was found has none. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { lookingUntil } from '../../publisher/publish/looking.ts';
import { alteredTarget } from '../support/altered-target.ts';

const PATH = '/a.txt';
const BYTES = Buffer.from('a');
let directory: string;
let target: Target;
let ending: AbortController;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wispr-looking-'));
  target = await openTarget(directory);
  await target.put(PATH, BYTES, { contentType: 'text/plain', cacheControl: 'no-cache' });
  ending = new AbortController();
});
afterEach(() => rm(directory, { recursive: true }));

const read = async (looked: Target | undefined) => looked?.get(PATH, 10);
const tooLate = () => ({ code: 'target-unreachable', message: `${directory} did not show in time what it has` });

it('a target that hangs is left at the end', async () => {
  const asked = Promise.withResolvers<void>();
  const hang = () => {
    asked.resolve();
    return new Promise<never>(() => undefined);
  };
  const looking = expect(lookingUntil(alteredTarget(target, { get: hang }), ending.signal, read)).rejects;
  const left = looking.toMatchObject(tooLate());
  await asked.promise;
  ending.abort();
  await left;
});

it('nothing is asked after the end, while it is looked', async () => {
  ending.abort();
  await expect(lookingUntil(target, ending.signal, read)).rejects.toMatchObject(tooLate());
});

it('what was found in time answers after the end', async () => {
  const found = await lookingUntil(target, ending.signal, async (looked) => ({ read: () => read(looked) }));
  ending.abort();
  expect(await found.read()).toEqual(BYTES);
});

it('without an end it takes as long as it takes; without a target there is nothing to wait for', async () => {
  expect(await lookingUntil(target, undefined, read)).toEqual(BYTES);
  ending.abort();
  expect(await lookingUntil(undefined, ending.signal, read)).toBeUndefined();
});
