/**
 * Two processes, each of which has verified something: one could not write, the other did then. Neither may take back what the other has
 * seen, by the rules of core/publication/client.ts. What is compared here has been verified by whoever wrote it, and is verified again when it
 * is read; a file that the root of both does not vouch for is as if it were not there.
 */
import { hash } from 'node:crypto';
import { PublicationError } from '../../core/publication/errors.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { hasLostOnlineKeys, type MetaFile, type RootMetadata } from '../../core/publication/metadata.ts';
import { targetsFile } from '../../core/publication/trusted-state.ts';
import {
  verifyFirstRoot,
  verifyNamedSnapshot,
  verifyNamedTargets,
  verifyOwnSnapshot,
  verifyOwnTimestamp,
} from '../../core/publication/verify-roles.ts';

/** By name. */
export type Files = ReadonlyMap<string, Uint8Array>;

const OPTIONS = { verify: verifyEd25519, strict: true };
const NOTHING = new Uint8Array(0);
/** The state in use. Of one publication, or nobody can load it. */
const IN_USE = ['wispr:timestamp', 'wispr:snapshot', 'wispr:targets'] as const;

/** All that one process has of a publisher, and the root that it goes by. */
interface Side {
  readonly files: Files;
  readonly root: RootMetadata | undefined;
}

/**
 * All that is to be kept of the publishers of one site.
 *
 * @param ours - by `root-id name`: all that is kept of a publisher, as this process has it
 * @param theirs - the same as the database has it now
 */
export function settleUnkept(ours: Files, theirs: Files): Map<string, Uint8Array> {
  const all = new Map<string, Uint8Array>();
  for (const publisher of new Set([...ours.keys()].map(publisherOf)))
    for (const [name, bytes] of settled(ofPublisher(ours, publisher), ofPublisher(theirs, publisher)))
      all.set(publisher + name, bytes);
  return all;
}

function settled(ours: Files, theirs: Files): Map<string, Uint8Array> {
  const sides = [sideOf(theirs), sideOf(ours)].sort((a, b) => (b.root?.version ?? 0) - (a.root?.version ?? 0));
  const [newer, older] = sides as [Side, Side];
  const state = stateOf(newer, older);
  const snapshot = newest('snapshot', newer, older);
  const chosen = new Map<string, Files>([
    ['root', newer.files],
    ['timestamp', newest('timestamp', newer, older)],
    ['snapshot', snapshot],
    ['targets', snapshot], // as the snapshot beside it names them
    ...IN_USE.map((name) => [name, state] as const),
  ]);
  const merged = new Map<string, Uint8Array>();
  for (const name of new Set([...theirs.keys(), ...ours.keys()])) {
    const other = state === ours ? theirs : ours;
    const bytes = chosen.has(name) ? chosen.get(name)?.get(name) : (state.get(name) ?? other.get(name));
    merged.set(name, bytes ?? NOTHING);
  }
  return merged;
}

function sideOf(files: Files): Side {
  return { files, root: verified(files.get('root'), (bytes) => verifyFirstRoot(bytes, OPTIONS)) };
}

/** Whose timestamp or snapshot is kept, so that nothing goes back: the higher one, unless the newer root replaced the keys (5.3.11). */
function newest(role: 'timestamp' | 'snapshot', newer: Side, older: Side): Files {
  if (forgets(newer, older)) return newer.files;
  const { root } = newer;
  const verify = role === 'timestamp' ? verifyOwnTimestamp : verifyOwnSnapshot;
  const versionIn = ({ files }: Side) =>
    (root && verified(files.get(role), (bytes) => verify(bytes, root, OPTIONS))?.version) ?? 0;
  return versionIn(older) > versionIn(newer) ? older.files : newer.files;
}

/** Whose state is kept: one that can be loaded, and of two such the newer one, as two clients of one store take it over from each other. */
function stateOf(newer: Side, older: Side): Files {
  const { root } = newer;
  const state = root && loadState(newer.files, root);
  const other = root && loadState(older.files, root);
  if (other === undefined) return newer.files;
  if (state === undefined) return older.files;
  const isOlder = other.timestamp <= state.timestamp || other.snapshot < state.snapshot;
  return isOlder ? newer.files : older.files;
}

function forgets({ root }: Side, older: Side): boolean {
  return root !== undefined && older.root !== undefined && hasLostOnlineKeys(older.root, root);
}

/** The versions of the state in use, if it is whole. */
function loadState(
  files: Files,
  root: RootMetadata,
): { readonly timestamp: number; readonly snapshot: number } | undefined {
  const [first, second, third] = IN_USE.map((name) => files.get(name));
  const timestamp = verified(first, (bytes) => verifyOwnTimestamp(bytes, root, OPTIONS));
  if (timestamp === undefined) return undefined;
  const snapshot = verified(named(second, timestamp.snapshot), (bytes) =>
    verifyNamedSnapshot(bytes, root, timestamp.snapshot, OPTIONS),
  );
  if (snapshot === undefined) return undefined;
  const by = { roleKeys: root.roles.targets, keys: root.keys };
  const targets = verified(third, (bytes) => {
    const expected = targetsFile(snapshot);
    return named(bytes, expected) && verifyNamedTargets(bytes, 'targets', by, expected, OPTIONS);
  });
  return targets && { timestamp: timestamp.version, snapshot: snapshot.version };
}

/** The bytes, where they are the file that metadata name. */
function named(bytes: Uint8Array | undefined, { length, sha256 }: MetaFile): Uint8Array | undefined {
  return bytes?.length === length && bytes && hash('sha256', bytes) === sha256 ? bytes : undefined;
}

function verified<Role>(bytes: Uint8Array | undefined, verify: (bytes: Uint8Array) => Role): Role | undefined {
  try {
    return bytes && verify(bytes);
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}

/** What stands before the name of a role, with the space. */
export function publisherOf(name: string): string {
  return name.slice(0, name.indexOf(' ') + 1);
}

function ofPublisher(files: Files, publisher: string): Files {
  const own = [...files].filter(([name]) => name.startsWith(publisher));
  return new Map(own.map(([name, bytes]) => [name.slice(publisher.length), bytes]));
}
