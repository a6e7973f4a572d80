/** A workspace with two targets, perhaps a key server, and a reader at each: for runs that are killed at any step. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { comparePairs } from '../../core/publication/pair.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import type { TimestampAuthority } from '../../publisher/authority/authority.ts';
import { rollBack } from '../../publisher/publish/rollback.ts';
import type { Site } from '../../publisher/publish/site.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { alteredTarget } from './altered-target.ts';
import { readPublished, type TrustedStore } from './published.ts';
import { Publishing, pairAt, pairIn, targetsOf } from './publishing.ts';
import { type PublishingKeyServer, startPublishingKeyServer } from './publishing-key-server.ts';
import { createWorkspace, SITE } from './workspace.ts';

/** Ends a run as a power cut does: nothing of it goes on. */
class Killed extends Error {}

type Pair = readonly [snapshot: number, timestamp: number];

export class KillableWorld {
  readonly publishing: Publishing;
  readonly #targets: readonly [string, string];
  readonly #keyServer: PublishingKeyServer | undefined;
  readonly #stores: readonly TrustedStore[] = [new Map(), new Map()];
  readonly #directory: string;
  #keys: ReadonlyMap<string, Uint8Array> | undefined;
  #lacking: ReadonlySet<string> = new Set();
  #edits = 0;
  #reach: readonly [boolean, boolean] = [true, true];
  /** Changes of a target or of the authority until the run is killed: right after the last of them, before it is recorded. */
  #left = Number.POSITIVE_INFINITY;

  constructor(publishing: Publishing, directory: string, keyServer: PublishingKeyServer | undefined) {
    this.publishing = publishing;
    this.#directory = directory;
    this.#targets = [join(directory, 'A'), join(directory, 'B')];
    this.#keyServer = keyServer;
    publishing.changes = {
      target: (target) => this.#altered(target),
      site: (site) => ({ ...site, authority: this.#killable(site.authority) }) as Site,
      token: keyServer?.token,
      options: { inTurn: keyServer ? 1 : 1000 }, // looks at what changed and at one list, or at everything
    };
  }

  reach(which: readonly [boolean, boolean]): void {
    this.#reach = which;
  }

  /** Changes a document, and has another one come or go. */
  async edit(): Promise<void> {
    const { made } = this.publishing;
    await made.write('a.html', `<p>${++this.#edits}`);
    if (this.#edits % 2 === 0) await made.write('b.html', `<p>${this.#edits}`);
    else await rm(join(made.source, 'b.html'), { force: true });
  }

  publish = () => this.publishing.publishStepwise();
  withdraw = () => this.publishing.withdraw();

  /** Brings no publication to a target that lacks it, and names that target. */
  confirm = async () => {
    const { behind } = await this.publishing.confirm();
    this.#lacking = new Set(behind.map(({ target }) => target));
  };

  /** Rolls back; where there is no earlier publication with other documents, confirms the current one. */
  rollback = (): Promise<unknown> =>
    this.publishing
      .on((site) => rollBack(site, undefined, async () => undefined))
      .catch((error: unknown) => {
        if ((error as { code?: string }).code !== 'publication-missing') throw error;
        return this.confirm();
      });

  /** Checks that nothing gives the sets new keys: every document would be encrypted again, and readers would lose theirs. */
  async checkKeys(): Promise<void> {
    const { contents } = await this.publishing.made.keyStore();
    this.#keys ??= contents.sets;
    expect(contents.sets).toEqual(this.#keys);
  }

  /** @returns whether the run was killed */
  async killing(killAt: number | undefined, run: () => Promise<unknown> | undefined): Promise<boolean> {
    this.#left = killAt ?? Number.POSITIVE_INFINITY;
    this.#lacking = new Set();
    try {
      await run();
      return false;
    } catch (error) {
      if (error instanceof Killed) return true;
      throw error;
    } finally {
      this.#left = Number.POSITIVE_INFINITY;
    }
  }

  /** Reads what readers are served at each target, and by the key server. */
  async pairs(): Promise<Pair[]> {
    const served = this.#keyServer ? [await this.#keyServer.pair()] : [];
    return [...(await Promise.all(this.#targets.map(pairAt))), ...served];
  }

  /** Checks that no pair has decreased, and that a reader at each target, who remembers what it has seen, can verify what lies there. */
  async checkReaders(before: readonly Pair[]): Promise<void> {
    const after = await this.pairs();
    for (const [index, [snapshot, timestamp]] of after.entries()) {
      const [was = 0, then = 0] = before[index] ?? [];
      expect(comparePairs({ snapshot, timestamp }, { snapshot: was, timestamp: then })).toBeGreaterThanOrEqual(0);
    }
    for (const [index, target] of this.#targets.entries()) {
      const store = this.#stores[index] ?? new Map();
      const reading = { site: SITE, keys: new Map(), now: nowInSeconds() + 60, store };
      if ((after[index]?.[0] ?? 0) === 0) continue;
      await readPublished(target, reading).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'publication-withdrawn' });
      });
    }
  }

  /** Checks that every target that can be reached has the authority's pair and all of its files, or was named as behind by a confirmation. */
  async checkTargets(): Promise<void> {
    const current = await this.publishing.on((site) => site.authority.current());
    const pairs = await this.pairs();
    for (const [index, isReachable] of this.#reach.entries()) {
      if (!isReachable || !current || this.#lacking.has(this.#targets[index] ?? '')) continue;
      expect(pairs[index]).toEqual(pairIn(current.bytes));
      const { findings } = await verifyTree(this.#targets[index] ?? '');
      expect(findings.filter(({ code }) => code !== 'publication-withdrawn')).toEqual([]);
    }
  }

  async close(): Promise<void> {
    await this.#keyServer?.close();
    await this.publishing.made.remove();
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Nothing begins after the end. */
  #begin(): void {
    if (this.#left <= 0) throw new Killed('killed');
  }

  /** Something is done; in a killed run, nothing learns of it. */
  #step(): void {
    if (--this.#left <= 0) throw new Killed('killed');
  }

  #altered(target: Target): Target {
    const index = this.#targets.indexOf(target.name);
    const check = () => {
      if (this.#reach[index] === false) throw new StorageError('target-unreachable', `${target.name} does not answer`);
    };
    return alteredTarget(target, {
      get: async (...args) => {
        check();
        return target.get(...args);
      },
      head: async (...args) => {
        check();
        return target.head(...args);
      },
      upload: async (...args) => {
        check();
        this.#begin();
        await target.upload(...args);
        this.#step();
      },
      list: async function* (prefix) {
        check();
        yield* target.list(prefix);
      },
    });
  }

  #killable(inner: TimestampAuthority): TimestampAuthority {
    return {
      current: () => inner.current(),
      learn: (found) => inner.learn(found),
      confirm: async (snapshot) => {
        this.#begin();
        const bytes = await inner.confirm(snapshot);
        this.#step();
        return bytes;
      },
    };
  }
}

export async function openWorld({ withKeyServer }: { readonly withKeyServer: boolean }): Promise<KillableWorld> {
  const directory = await mkdtemp(join(tmpdir(), 'wispr-world-'));
  const keyServer = withKeyServer ? await startPublishingKeyServer() : undefined;
  const settings = { ...targetsOf(join(directory, 'A'), join(directory, 'B')), ...(keyServer?.settings ?? {}) };
  const files = ['a', 'c', 'd', 'e', 'f'].map((name) => [`${name}.html`, `<p>${name}`]);
  const made = await createWorkspace(Object.fromEntries(files), settings);
  await keyServer?.giveKeyTo(made);
  return new KillableWorld(new Publishing(made), directory, keyServer);
}
