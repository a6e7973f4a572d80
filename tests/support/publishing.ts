/** A workspace that publishes to several targets, step by step as `wispr publish`, `timestamp` and `withdraw` do. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Target } from '../../node-support/storage/target.ts';
import { readTimestamp } from '../../publisher/authority/authority.ts';
import type { ProtectSummary } from '../../publisher/protect/summary.ts';
import { TIMESTAMP_PATH } from '../../publisher/publication/files.ts';
import { type Confirmation, confirmSite } from '../../publisher/publish/confirm.ts';
import { findHighest } from '../../publisher/publish/highest.ts';
import {
  type PublishRun,
  type PublishSummary,
  publishFromWorkspace,
  publishSite,
} from '../../publisher/publish/publish.ts';
import { type OpenSiteOptions, type Site, withSite } from '../../publisher/publish/site.ts';
import { locateTargets, type PublishTargets } from '../../publisher/publish/targets.ts';
import { type Withdrawal, withdrawSite } from '../../publisher/publish/withdraw.ts';
import type { Configuration } from '../../publisher/workspace/configuration/schema.ts';
import { PASSPHRASE, type TestWorkspace } from './workspace.ts';

/** Changes by a test. */
export interface Changes {
  /** Replaces the opened targets. */
  readonly target?: (target: Target) => Target;
  /** Replaces the opened site. */
  readonly site?: (site: Site) => Site;
  readonly token?: string | undefined;
  /** Origin of a key server in place of the one in `wispr.json`. */
  readonly keyServer?: string;
  readonly options?: Partial<OpenSiteOptions>;
}

export class Publishing {
  readonly made: TestWorkspace;
  changes: Changes = {};

  constructor(made: TestWorkspace) {
    this.made = made;
  }

  /** Publishes from a copy of the workspace, as it is now. */
  async copy(): Promise<Publishing> {
    const directory = `${this.made.directory}-copy`;
    await cp(this.made.directory, directory, { recursive: true });
    onTestFinished(() => rm(directory, { recursive: true }));
    const [source, configurationFile] = [join(directory, 'site'), join(directory, 'wispr.json')];
    const write = async (path: string, text: string | Uint8Array) => writeFile(join(source, path), text);
    return new Publishing({ ...this.made, directory, source, configurationFile, write });
  }

  async places(target?: string): Promise<PublishTargets> {
    const places = await locateTargets({ configurationFile: this.made.configurationFile, target });
    const { target: change = (same: Target) => same, token = places.token, keyServer } = this.changes;
    const configuration = { ...places.configuration, ...(keyServer !== undefined && { keyServer }) };
    return { ...places, configuration, targets: places.targets.map(change), token };
  }

  async publish(
    run: Partial<PublishRun> = {},
    target?: string,
  ): Promise<{ summary: PublishSummary; protection: ProtectSummary | undefined }> {
    const places = await this.places(target);
    return publishFromWorkspace({ places, passphrase: PASSPHRASE, protect: {}, ...this.changes.options, ...run });
  }

  /** Publishes like {@link publish}, with the site that a test has changed. */
  async publishStepwise(): Promise<PublishSummary> {
    const { snapshot, reachable, failures } = await this.on(findHighest);
    if (reachable.length === 0 && failures[0]) throw failures[0].failure;
    await this.made.protect({ above: snapshot, timestamp: 'later' });
    return this.on(async (site) => {
      const targets = site.targets.filter(({ name }) => reachable.some((target) => target.name === name));
      return publishSite(site, { reachable: targets, failures });
    });
  }

  confirm(): Promise<Confirmation> {
    return this.on(confirmSite);
  }

  withdraw(version?: number): Promise<Withdrawal> {
    return this.on((site) => withdrawSite(site, version));
  }

  async on<Result>(work: (site: Site) => Promise<Result>): Promise<Result> {
    const { site: change = (same: Site) => same, options } = this.changes;
    return withSite(await this.places(), { passphrase: PASSPHRASE, ...options }, (site) => work(change(site)));
  }
}

/** Settings of a workspace that publishes to these targets, without a key server that confirms. */
export function targetsOf(...publish: string[]): Pick<Configuration, 'timestampBy'> & { publish: string[] } {
  return { publish, timestampBy: 'publisher' };
}

/** Reads what readers find at a directory: versions of snapshot and timestamp. */
export async function pairAt(directory: string): Promise<readonly [snapshot: number, timestamp: number]> {
  const bytes = await readFile(join(directory, TIMESTAMP_PATH)).catch(() => undefined);
  return bytes === undefined ? [0, 0] : pairIn(bytes);
}

/** Reads the pair of a timestamp file. */
export function pairIn(bytes: Uint8Array): readonly [snapshot: number, timestamp: number] {
  const { timestamp } = readTimestamp(bytes);
  return [timestamp.snapshot.version, timestamp.version];
}

export async function publicationAt(directory: string): Promise<number> {
  return (await pairAt(directory))[0];
}
