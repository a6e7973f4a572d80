/** Brings a timestamp, and the small files that it needs, to every target: R1 and R4 of docs/spec/publication.md, section 8. */
import { isGreater } from '../../core/publication/pair.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import {
  type CurrentTimestamp,
  isOfFuture,
  isOrderError,
  publicationOlder,
  publicationOther,
  readTimestamp,
  shownAt,
} from '../authority/authority.ts';
import { isUnreachable } from '../authority/key-server.ts';
import { PublishError } from '../errors.ts';
import { headersOf, TIMESTAMP_PATH } from '../publication/files.ts';
import { fileOfRole } from '../publication/roles.ts';
import type { SignedSnapshot } from '../publication/signed.ts';
import { sourceAtTarget } from '../publication/sources.ts';
import { checkTarget } from './check-target.ts';
import { eachTarget } from './each-target.ts';
import { highestAt, type Reached } from './highest.ts';
import type { Site } from './site.ts';

export interface Delivery {
  readonly publication: number;
  readonly behind: readonly Behind[];
  /** Targets of earlier runs that this one does not have. They show what they had. */
  readonly absent: readonly string[];
  /** End of the timestamp, seconds since 1970. */
  readonly freshUntil: number;
  /** State of the key server, which may have the keys and confirm the publication; `undefined` without a token. */
  readonly keyServer: 'confirms' | 'has the keys' | 'does not answer' | undefined;
}

export interface Behind {
  readonly target: string;
  readonly code: string;
  readonly message: string;
}

/** Number of times that another process may change the timestamp between a look and a put. */
const ATTEMPTS = 5;

/**
 * Brings a timestamp to all targets at once, ten seconds each. A closing snapshot needs nothing else, and is brought with it.
 *
 * @param bytes - `timestamp.json`, as the authority signed it
 * @param snapshot - that it names
 * @returns also the targets that show the timestamp, or a greater one of this publication
 */
export async function deliver(
  site: Site,
  bytes: Uint8Array,
  snapshot: SignedSnapshot,
  { reachable, failures: failedBefore }: Reached,
): Promise<{ readonly shown: readonly Target[]; readonly delivery: Delivery }> {
  const timestamp = readTimestamp(bytes);
  const bring = async (target: Target) => {
    try {
      if (snapshot.snapshot.closed) await putSnapshot(target, site, snapshot);
      await showTimestamp(target, site, timestamp, snapshot);
    } catch (error) {
      if (isOrderError(error)) await highestAt(target, site); // lets the next run go above it
      throw error;
    }
  };
  const { done, failures } = await eachTarget(reachable, bring, {
    ...{ limit: site.targetLimit, signal: site.signal },
    state: `publication ${snapshot.file.version} is confirmed, and targets that do not show it yet show the previous one`,
  });
  return {
    shown: [...done.keys()],
    delivery: {
      publication: snapshot.file.version,
      behind: [...failedBefore, ...failures].map(({ target, failure: { code, message } }) => {
        return { target: target.name, code, message };
      }),
      absent: rememberTargets(site, [...done.keys()]),
      freshUntil: timestamp.timestamp.expires,
      keyServer: stateOfKeyServer(site),
    },
  };
}

/** @returns targets that showed a publication of this workspace, and are not among those of this run */
function rememberTargets({ index, targets }: Site, shown: readonly Target[]): string[] {
  const known: readonly string[] = JSON.parse(index.fact('shownAt') ?? '[]');
  index.setFact('shownAt', JSON.stringify([...new Set([...known, ...shown.map(({ name }) => name)])]));
  return known.filter((name) => !targets.some((target) => target.name === name));
}

function stateOfKeyServer({ keyServer, configuration, keyServerFailure }: Site): Delivery['keyServer'] {
  if (keyServer === undefined) return undefined;
  if (isUnreachable(keyServerFailure())) return 'does not answer';
  return configuration.timestampBy === 'keyserver' ? 'confirms' : 'has the keys';
}

/** Puts the snapshot first: with the roots, readers may give up the metadata of the previous ones. */
async function putSnapshot(target: Target, site: Site, snapshot: SignedSnapshot): Promise<void> {
  await checkTarget(target, site, snapshot);
  await putIfMissing(target, fileOfRole('snapshot', snapshot.file.version), snapshot.bytes);
  for (const [index, bytes] of site.rootFiles.entries())
    await putIfMissing(target, fileOfRole('root', index + 1), bytes);
}

async function putIfMissing(target: Target, path: string, bytes: Uint8Array): Promise<void> {
  const file = await target.head(path);
  if (file && (await target.matches(file, bytes))) return;
  const headers = headersOf({ path, kind: 'metadata', immutable: true, optional: false });
  await target.upload(path, bytes, { ...headers, replacing: file?.tag ?? null });
}

/**
 * Puts a timestamp, unless the target has a greater one. What counts there is signed under the newest root, not in the future, and its snapshot lies
 * there too: the key of timestamps alone makes no publication.
 *
 * @throws PublishError `target-behind` if the target lacks the root or the snapshot, `publication-older` if it shows a higher publication,
 * `publication-other`; StorageError
 */
async function showTimestamp(
  target: Target,
  site: Site,
  { bytes, timestamp }: CurrentTimestamp,
  mine: SignedSnapshot,
): Promise<void> {
  const { version, sha256 } = mine.file;
  for (let attempt = 1; ; attempt++) {
    const file = await target.head(TIMESTAMP_PATH);
    const there = file && (await shownAt(sourceAtTarget(target), site.roots.slice(0, 1)));
    if (there && !isOfFuture(there.timestamp, site.now()) && !isGreater(timestamp, there.timestamp)) {
      const other = there.timestamp.snapshot;
      if (other.version > version) throw publicationOlder(other.version, version, target.name);
      if (other.sha256 !== sha256) throw publicationOther(version, target.name);
      return;
    }
    const root = site.roots[0].version;
    if (!(await has(target, fileOfRole('root', root), site.rootFiles[root - 1]))) throw behind(target, `root ${root}`);
    if (!(await has(target, fileOfRole('snapshot', version), mine.bytes)))
      throw behind(target, `publication ${version}`);
    try {
      const headers = headersOf({ path: TIMESTAMP_PATH, kind: 'timestamp', immutable: false, optional: false });
      await target.upload(TIMESTAMP_PATH, bytes, { ...headers, replacing: file?.tag ?? null });
      return;
    } catch (error) {
      const isChanged = error instanceof StorageError && error.code === 'target-changed';
      if (!isChanged || attempt === ATTEMPTS) throw error;
    }
  }
}

async function has(target: Target, path: string, bytes: Uint8Array | undefined): Promise<boolean> {
  const file = await target.head(path);
  return file !== undefined && bytes !== undefined && target.matches(file, bytes);
}

function behind(target: Target, what: string): PublishError {
  return new PublishError('target-behind', `${target.name} does not have ${what}`, {
    fields: { target: target.name },
  });
}
