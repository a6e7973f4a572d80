/**
 * State that a client keeps over a restart: the newest metadata that were verified, under the names of their roles, for what may not go back; and
 * the last complete state, under names of its own, because the newest may be of a publication that has not arrived whole.
 */
import { ifGood } from './errors.ts';
import type { MetaFile, RootMetadata, SnapshotMetadata, TargetsMetadata, TimestampMetadata } from './metadata.ts';
import { type MetadataStore, missing } from './sources.ts';
import {
  type RoleChecks,
  verifyOwnSnapshot,
  verifyOwnTimestamp,
  verifySnapshot,
  verifyTargets,
} from './verify-roles.ts';

export interface TrustedState {
  readonly root: RootMetadata;
  readonly timestamp: TimestampMetadata;
  readonly snapshot: SnapshotMetadata;
  readonly targets: TargetsMetadata;
}

/** A role's metadata, and the bytes they were read from. */
export interface VerifiedRole<Role> {
  readonly role: Role;
  readonly bytes: Uint8Array;
}

/** Metadata that were verified last of each role. The files of a state are left out where they are those of the state before. */
export interface StateFiles {
  readonly timestamp: VerifiedRole<TimestampMetadata>;
  readonly snapshot: Uint8Array | undefined;
  readonly targets: Uint8Array | undefined;
}

interface StoredRoles {
  readonly timestamp: VerifiedRole<TimestampMetadata> | undefined;
  readonly snapshot: SnapshotMetadata | undefined;
  readonly state: TrustedState | undefined;
}

type Options = RoleChecks & { readonly store: MetadataStore };
type Names = Readonly<Record<'timestamp' | 'snapshot' | 'targets', string>>;

const NEWEST: Names = { timestamp: 'timestamp', snapshot: 'snapshot', targets: 'targets' };
/** The files of the state in use. */
export const IN_USE: Names = { timestamp: 'wispr:timestamp', snapshot: 'wispr:snapshot', targets: 'wispr:targets' };

/** Reads and verifies a stored file. Files that do not verify are treated as missing. */
export async function readStored<Role>(
  store: MetadataStore,
  name: string,
  verify: (bytes: Uint8Array) => Role | Promise<Role>,
): Promise<VerifiedRole<Role> | undefined> {
  const bytes = await store.read(name);
  return bytes && ifGood(async () => ({ role: await verify(bytes), bytes }));
}

/** Reads stored roles that are signed by the keys of this root. */
export async function loadStored(root: RootMetadata, options: Options): Promise<StoredRoles> {
  const { store } = options;
  const timestamp = await readStored(store, NEWEST.timestamp, (bytes) => verifyOwnTimestamp(bytes, root, options));
  const snapshot = (await readStored(store, NEWEST.snapshot, (bytes) => verifyOwnSnapshot(bytes, root, options)))?.role;
  if (snapshot?.closed) {
    await forgetState(store); // closing may have been interrupted
    return { timestamp, snapshot, state: undefined };
  }
  const state = (await loadState(IN_USE, root, options))?.state ?? (await recoverState(root, options));
  return { timestamp, snapshot, state };
}

/** 5.3.11: after a change of keys, older versions are believed again. */
export async function forgetNewest(store: MetadataStore): Promise<void> {
  await empty(store, [NEWEST.timestamp, NEWEST.snapshot]);
}

/** The publication in use was withdrawn. */
export async function forgetState(store: MetadataStore): Promise<void> {
  await empty(store, [IN_USE.timestamp]);
}

async function empty(store: MetadataStore, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (((await store.read(name))?.length ?? 0) > 0) await store.write(name, new Uint8Array(0));
  }
}

/** Makes a state the one that a new start finds. The timestamp is last: until then what it names is not there, and {@link loadStored} goes on. */
export async function storeState(store: MetadataStore, { timestamp, snapshot, targets }: StateFiles): Promise<void> {
  if (snapshot) await store.write(IN_USE.snapshot, snapshot);
  if (targets) await store.write(IN_USE.targets, targets);
  await store.write(IN_USE.timestamp, timestamp.bytes);
}

/** 5.6.2 to 5.6.4 for the top role. */
export async function verifyTopTargets(
  bytes: Uint8Array,
  root: RootMetadata,
  snapshot: SnapshotMetadata,
  options: RoleChecks,
): Promise<TargetsMetadata> {
  const keys = { roleKeys: root.roles.targets, keys: root.keys };
  return verifyTargets(bytes, 'targets', keys, targetsFile(snapshot), options);
}

export function targetsFile(snapshot: SnapshotMetadata): MetaFile {
  const file = snapshot.roles.get('targets');
  if (file === undefined) throw missing('targets');
  return file;
}

/** Recovers from an interrupted write of the state in use: the newest files are complete, as they were written before. */
async function recoverState(root: RootMetadata, options: Options): Promise<TrustedState | undefined> {
  const newest = await loadState(NEWEST, root, options);
  if (newest) await storeState(options.store, newest.files);
  return newest?.state;
}

async function loadState(
  names: Names,
  root: RootMetadata,
  options: Options,
): Promise<{ readonly state: TrustedState; readonly files: StateFiles } | undefined> {
  const { store } = options;
  const timestamp = await readStored(store, names.timestamp, (bytes) => verifyOwnTimestamp(bytes, root, options));
  if (timestamp === undefined) return undefined;
  const expected = timestamp.role.snapshot;
  const snapshot = await readStored(store, names.snapshot, (bytes) => verifySnapshot(bytes, root, expected, options));
  if (snapshot === undefined) return undefined;
  const targets = await readStored(store, names.targets, (bytes) =>
    verifyTopTargets(bytes, root, snapshot.role, options),
  );
  if (targets === undefined) return undefined;
  return {
    state: { root, timestamp: timestamp.role, snapshot: snapshot.role, targets: targets.role },
    files: { timestamp, snapshot: snapshot.bytes, targets: targets.bytes },
  };
}
