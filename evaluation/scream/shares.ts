/** Bounded shares of a core, by the kernel's control group `cpu`, version 1: each node of a cluster has as much of a machine as the others. */
import { accessSync, constants, mkdirSync, mkdtempSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const MOUNTED = '/sys/fs/cgroup/cpu';
const PERIOD = 100_000;
/** Weight of one process beside others: so many have so many times as much. */
const WEIGHT = 1024;

export interface Shares {
  /** Makes a further group, unbounded. @returns its folder: what writes its process id into `cgroup.procs` there belongs to it */
  readonly add: () => string;
  /** Bounds each group. @param share - of a core */
  readonly bound: (share: number) => void;
  /** Removes the groups, whose processes have ended. */
  readonly clear: () => Promise<void>;
}

/** @throws Error where the machine has no such groups */
export function openShares(members: number, endings: AsyncDisposableStack): Shares {
  try {
    accessSync(join(MOUNTED, 'cpu.cfs_quota_us'), constants.W_OK);
  } catch {
    throw new Error(
      `this figure bounds processes by ${MOUNTED}/*/cpu.cfs_quota_us (cgroup v1), which is not there for this user`,
    );
  }
  const folder = mkdtempSync(join(MOUNTED, 'wispr-evaluate-')); // one that was killed leaves its own behind
  endings.defer(() => remove(folder));
  writeFileSync(join(folder, 'cpu.shares'), String(WEIGHT * members));
  const groups: string[] = [];
  return {
    add: () => {
      const group = join(folder, `node-${groups.length}`);
      mkdirSync(group);
      groups.push(group);
      return group;
    },
    bound: (share) => {
      for (const group of groups) writeFileSync(join(group, 'cpu.cfs_quota_us'), String(PERIOD * share));
    },
    clear: async () => {
      for (const group of groups.splice(0)) await remove(group);
    },
  };
}

/** The kernel takes a moment to see that the last process has ended. */
async function remove(group: string, attempts = 50): Promise<void> {
  try {
    rmdirSync(group);
  } catch (error) {
    if (attempts === 0) throw error;
    await wait(100);
    await remove(group, attempts - 1);
  }
}
