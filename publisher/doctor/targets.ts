/** The targets that `wispr.json` names, each opened by itself: one that cannot be opened keeps no other one from being looked at. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type Check, ok, problem } from '../../node-support/doctor/diagnosis.ts';
import type { TimeSource } from '../../node-support/doctor/network.ts';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { nameOfTarget, openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { TIMESTAMP_PATH } from '../publication/files.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';

export function namedTargets({ publish = [] }: Configuration): readonly string[] {
  return typeof publish === 'string' ? [publish] : publish;
}

/** Opens a target for `work`; the signal ends its connections. */
export async function withTarget<Result>(
  text: string,
  directory: string,
  signal: AbortSignal,
  work: (target: Target) => Promise<Result>,
): Promise<Result> {
  const target = await openTarget(text, directory);
  signal.addEventListener('abort', () => target.close(), { once: true });
  try {
    return await work(target);
  } finally {
    target.close();
  }
}

/** Puts a small file there, and removes it. A directory that is not there is not made: it may be a disk that is not mounted. */
export function targetCheck(text: string, directory: string): Check {
  return {
    check: `target ${nameOfTarget(text)}`,
    remedy: 'check the permissions',
    run: (signal) =>
      withTarget(text, directory, signal, async (target) => {
        if (target instanceof DirectoryTarget && !existsSync(target.name))
          return problem('there is no such directory', 'mount it, or make it with `wispr publish --yes`');
        const path = `/.wispr-doctor-${randomUUID()}`;
        await target.upload(path, new Uint8Array(1), { contentType: 'text/plain', cacheControl: 'no-store' });
        await target.remove([path]);
        return ok('can be written to');
      }),
  };
}

/** Buckets tell the time; directories are of this machine. */
export function timeOfTarget(text: string, directory: string): TimeSource {
  return (signal) =>
    withTarget(text, directory, signal, async (target) => {
      if (target.time) await target.head(TIMESTAMP_PATH);
      return target.time?.();
    });
}
