/** Brings a timestamp, and the small files that it needs, to every target. */
import type { Target } from '../../node-support/storage/target.ts';
import { isOrderError, publicationOlder, readTimestamp } from '../authority/authority.ts';
import { headersOf } from '../publication/files.ts';
import { fileOfRole } from '../publication/roles.ts';
import type { SignedSnapshot } from '../publication/snapshot.ts';
import { checkTarget } from './check-target.ts';
import { eachTarget, TARGET_LIMIT } from './each-target.ts';
import { type Failed, highestAt } from './highest.ts';
import { showTimestamp } from './show-timestamp.ts';
import type { Site } from './site.ts';

export interface DeliverOptions {
  /** `timestamp.json`, as the authority signed it. */
  readonly timestamp: Uint8Array;
  /** The snapshot that it names. */
  readonly snapshot: SignedSnapshot;
  readonly targets: readonly Target[];
  /** Brings roots and snapshot as well: a closing snapshot needs nothing else. */
  readonly withSnapshot?: boolean;
}

export interface Delivery {
  /** Targets that show the timestamp, or a greater one. */
  readonly shown: readonly Target[];
  readonly failures: readonly Failed[];
  /** When the timestamp ends, seconds since 1970. */
  readonly freshUntil: number;
}

/** All targets at once, ten seconds each. */
export async function deliver(site: Site, options: DeliverOptions): Promise<Delivery> {
  const { snapshot, targets, withSnapshot = false } = options;
  const { roots, rootFiles, signal } = site;
  const timestamp = readTimestamp(options.timestamp);
  const [root] = roots;
  const rootFile = rootFiles.at(-1) ?? new Uint8Array(0);
  const shown = { timestamp, root, rootFile, snapshotFile: snapshot.bytes, now: site.now() };
  const outcomes = await eachTarget(
    targets,
    async (target) => {
      try {
        if (withSnapshot) await putSnapshot(target, site, snapshot);
        const higher = await showTimestamp(target, shown);
        if (higher) throw publicationOlder(higher.timestamp.snapshot.version, snapshot.file.version, target.name);
      } catch (error) {
        if (isOrderError(error)) await highestAt(target, site); // so that the next run goes above it
        throw error;
      }
    },
    {
      ...{ limit: TARGET_LIMIT, signal },
      state: `publication ${snapshot.file.version} is confirmed, and targets that do not show it yet show the previous one`,
    },
  );
  return {
    shown: outcomes.filter(({ failure }) => failure === undefined).map(({ target }) => target),
    failures: outcomes.filter((outcome): outcome is Failed => outcome.failure !== undefined),
    freshUntil: timestamp.timestamp.expires,
  };
}

/** The snapshot first: with the roots, readers may give up the metadata of the previous ones. */
async function putSnapshot(target: Target, site: Site, snapshot: SignedSnapshot): Promise<void> {
  await checkTarget(target, site, snapshot);
  await putIfMissing(target, fileOfRole('snapshot', snapshot.file.version), snapshot.bytes);
  for (const [index, bytes] of site.rootFiles.entries())
    await putIfMissing(target, fileOfRole('root', index + 1), bytes);
}

async function putIfMissing(target: Target, path: string, bytes: Uint8Array): Promise<void> {
  const file = await target.head(path);
  if (file && (await target.holds(file, bytes))) return;
  const headers = headersOf({ path, kind: 'metadata', immutable: true, optional: false });
  await target.put(path, bytes, { ...headers, replacing: file?.tag ?? null });
}
