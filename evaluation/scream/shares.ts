/** Bounded shares of a core, by the kernel's control group `cpu`, version 1: each node of a cluster has as much of a machine as the others. */
import { accessSync, constants, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const MOUNTED = '/sys/fs/cgroup/cpu';
const PERIOD = 100_000;
/** What one process has beside others: so many have so many times as much. */
const WEIGHT = 1024;

export class Shares {
  readonly #folder: string;
  readonly #groups: string[] = [];

  /** @throws Error where the machine has no such groups */
  constructor(members: number) {
    try {
      accessSync(join(MOUNTED, 'cpu.cfs_quota_us'), constants.W_OK);
    } catch {
      throw new Error(
        `this figure bounds processes by ${MOUNTED}/*/cpu.cfs_quota_us (cgroup v1), which is not there for this user`,
      );
    }
    this.#folder = join(MOUNTED, `wispr-evaluate-${process.pid}`);
    mkdirSync(this.#folder);
    writeFileSync(join(this.#folder, 'cpu.shares'), String(WEIGHT * members));
  }

  /** A further group, unbounded. @returns its folder: what writes its process id into `cgroup.procs` there belongs to it */
  add(): string {
    const group = join(this.#folder, `node-${this.#groups.length}`);
    mkdirSync(group);
    this.#groups.push(group);
    return group;
  }

  /** Bounds each group. @param share - of a core */
  bound(share: number): void {
    for (const group of this.#groups) writeFileSync(join(group, 'cpu.cfs_quota_us'), String(PERIOD * share));
  }

  /** Removes the groups, whose processes have ended. */
  async clear(): Promise<void> {
    for (const group of this.#groups.splice(0)) await remove(group);
  }

  async close(): Promise<void> {
    await this.clear();
    await remove(this.#folder);
  }
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
