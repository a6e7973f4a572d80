/** Another program that is at work in a workspace, as `wispr timestamp` by cron may be at any time. */
import { DatabaseSync } from 'node:sqlite';
import { vi } from 'vitest';
import { type Workspace, withLock } from '../../publisher/workspace.ts';

export interface OtherAtWork {
  /** Resolves when somebody has found that. */
  readonly isMet: Promise<void>;
  /** It has come to its end. */
  end(): Promise<void>;
}

export function otherAtWork(workspace: Workspace): OtherAtWork {
  const [met, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const work = withLock(workspace, () => over.promise);
  const { exec } = DatabaseSync.prototype;
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    try {
      exec.call(this, sql);
    } catch (error) {
      met.resolve();
      throw error;
    }
  });
  const end = () => {
    spy.mockRestore();
    over.resolve();
    return work;
  };
  return { isMet: met.promise, end };
}
