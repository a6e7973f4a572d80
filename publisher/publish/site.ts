/** A site that is opened for publishing: its keys, its roots, its targets, and who says what is current. */
import { join } from 'node:path';
import type { TufObject } from '../../core/publication/canonical.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { signMetadata } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { shownAt, type TimestampAuthority } from '../authority/authority.ts';
import type { KeyServerAccess, KeyServerLimits } from '../authority/key-server.ts';
import { KeyServerAuthority } from '../authority/key-server-authority.ts';
import { LocalAuthority, stateInIndex } from '../authority/local-authority.ts';
import { replaceFile } from '../keys/file-update.ts';
import { type OpenKeyStore, openKeyStore } from '../keys/key-store.ts';
import { verifiedRoots } from '../keys/roots.ts';
import { replaceOutputFile } from '../protect/writers/files.ts';
import { TIMESTAMP_PATH } from '../publication/files.ts';
import { fileOfRole } from '../publication/roles.ts';
import { readSnapshot, type SignedSnapshot, signedSnapshot } from '../publication/signed.ts';
import { type PublicationSource, sourceInDirectory } from '../publication/sources.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import { readKeyStore, withLock } from '../workspace/workspace.ts';
import type { PublishTargets } from './targets.ts';

export interface Site extends PublishTargets {
  /** Index of what the last `wispr protect` made, and what was published. */
  readonly index: PublisherIndex;
  readonly store: Pick<OpenKeyStore, 'signers' | 'contents' | 'rootId' | 'seal'>;
  /** `1.root.json` and its successors, byte for byte, in their order. */
  readonly rootFiles: readonly Uint8Array[];
  /** The same, verified, the newest first. */
  readonly roots: readonly [RootMetadata, ...RootMetadata[]];
  readonly output: PublicationSource;
  readonly authority: TimestampAuthority;
  /** Left out where the publisher has no token. */
  readonly keyServer: KeyServerAccess | undefined;
  /** Error for which the key server was left out, if it did not answer. */
  readonly keyServerFailure: () => Error | undefined;
  /** Seconds since 1970. */
  readonly now: () => number;
  readonly signal: AbortSignal | undefined;
  /** Milliseconds for small files at one target. */
  readonly targetLimit: number;
  /** Documents that are compared with targets besides those that changed; `all`: every one, byte for byte. */
  readonly inTurn: number | 'all';
}

export interface OpenSiteOptions {
  readonly passphrase: string;
  readonly signal?: AbortSignal | undefined;
  /** Limits for what is urgent: shorter ones than usual. */
  readonly keyServerLimits?: KeyServerLimits;
  /** Milliseconds for small files at one target. */
  readonly targetLimit?: number;
  readonly inTurn?: number | 'all' | undefined;
  readonly now?: () => number;
}

/** Documents that are compared in turn, for a bucket a second of a processor; a smaller site is compared whole. */
const IN_TURN = 250;

/**
 * Opens a site for `work`, and keeps other runs in this workspace out meanwhile.
 *
 * @throws PublishError `store-busy`, `key-store-refused`, `passphrase-wrong`; whatever `work` throws
 */
export function withSite<Result>(
  places: PublishTargets,
  options: OpenSiteOptions,
  work: (site: Site) => Promise<Result>,
): Promise<Result> {
  return withLock(places.workspace, async (index) => work(await openSite(places, options, index)));
}

async function openSite(
  places: PublishTargets,
  {
    passphrase,
    signal,
    keyServerLimits: limits,
    targetLimit = 10_000,
    inTurn = IN_TURN,
    now = nowInSeconds,
  }: OpenSiteOptions,
  index: PublisherIndex,
): Promise<Site> {
  const { configuration, workspace, token, out } = places;
  const store = await openKeyStore(await readKeyStore(workspace), passphrase);
  const roots = await verifiedRoots(store.roots);
  const local = new LocalAuthority({
    state: stateInIndex(index),
    signer: store.signers.timestamp,
    freshFor: configuration.freshness.hours * 3600,
    now,
  });
  const keyServer =
    token === undefined ? undefined : { origin: configuration.keyServer, token, signal, ...(limits && { limits }) };
  const remote =
    keyServer && configuration.timestampBy === 'keyserver'
      ? new KeyServerAuthority({ keyServer, local, signer: store.signers.snapshot, rootFiles: store.roots, roots, now })
      : undefined;
  const output = sourceInDirectory(out);
  const shown = await shownAt(output, roots.slice(0, 1)); // `publisher.db` may be lost while `out` is served
  if (shown) await local.learn(shown);
  return {
    ...places,
    ...{ index, store, roots, keyServer, now, signal, targetLimit, inTurn },
    rootFiles: store.roots,
    output,
    authority: remote ?? local,
    keyServerFailure: () => remote?.failure,
  };
}

/**
 * Claims a version that no publication of this workspace has had, above `seen`. It is in `publisher.keys` before anything is signed, so a run that is
 * killed and repeated signs no second publication of the same version.
 *
 * @throws PublishError `output-failed`
 */
export async function claimVersion({ store, workspace, index }: Site, seen: number): Promise<number> {
  const { contents } = store;
  const version = Math.max(seen, contents.publication, Number(index.fact('version') ?? 0)) + 1;
  await replaceFile(workspace.keyStore, await store.seal({ ...contents, publication: version }));
  return version;
}

/**
 * Signs a snapshot, and puts it, durably, and the roots under which it is good, into `out`.
 *
 * @throws PublishError `output-failed`
 */
export async function signSnapshot(
  { out, rootFiles, store, roots }: Site,
  content: TufObject,
): Promise<SignedSnapshot> {
  const signed = await signedSnapshot(signMetadata(content, [store.signers.snapshot]), roots);
  if (signed === undefined) throw new Error('the key store signs under its own root');
  await replaceOutputFile(join(out, fileOfRole('snapshot', signed.file.version)), signed.bytes, { sync: true });
  for (const [index, root] of rootFiles.entries())
    await replaceOutputFile(join(out, fileOfRole('root', index + 1)), root);
  return signed;
}

/**
 * Puts the timestamp that the authority signed last into `out`, which may be served, copied by hand, or looked at with `wispr verify`. R4 holds
 * for it too.
 *
 * @throws PublishError `output-failed`
 */
export async function keepTimestamp(
  { out, output, roots }: Site,
  timestamp: Uint8Array,
  { file }: SignedSnapshot,
): Promise<void> {
  const there = await readSnapshot(file.version, output, roots);
  if (there?.file.sha256 === file.sha256) await replaceOutputFile(join(out, TIMESTAMP_PATH), timestamp, { sync: true });
}
