/** The publication in a directory, verified as readers do, before anything is confirmed about it. */
import { join } from 'node:path';
import type { KeyId } from '../../core/keys/key-id.ts';
import { binNames, DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type {
  Delegation,
  MetaFile,
  RootMetadata,
  SignedTimestamp,
  SnapshotMetadata,
  TargetsMetadata,
  TimestampMetadata,
} from '../../core/publication/metadata.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { verifySnapshot, verifyTargets, verifyTimestamp } from '../../core/publication/verify-roles.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS, verifyChain } from '../keys/roots.ts';
import { DISK_IS_GONE } from '../publication/own.ts';
import type { OwnMetadata } from '../publication/places.ts';
import { fileOfRole } from '../publication/roles.ts';

/** A role as it stands in a publication. */
export interface RoleState extends RoleExpiry {
  readonly version: number;
}

/** A publication whose signatures are good. Whether it has expired is for the caller to ask. */
export interface Published {
  readonly rootId: KeyId;
  readonly root: RootMetadata;
  readonly timestamp: SignedTimestamp;
  readonly snapshot: SnapshotMetadata;
  /** The sections, in their order. */
  readonly sections: readonly Delegation[];
  /** Root, targets, documents, every section, snapshot, timestamp, and of all bins the one that expires first. */
  readonly expiries: readonly RoleState[];
}

/** Bytes in which a delegated role says when it expires: its members are sorted, and its targets come last. */
const START_LENGTH = 4096;
const EXPIRES = /"expires":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"/;
const FILES_AT_A_TIME = 16;

/**
 * Reads and verifies our own metadata.
 *
 * @param rootId - whose publication it has to be; anybody's, if left out
 * @throws PublishError `publication-missing`; PublicationError
 */
export async function readPublished(own: OwnMetadata, rootId?: KeyId): Promise<Published> {
  const roots = await readRoots(own);
  const [first] = roots;
  if (first === undefined) throw missing(`there is no publication in ${own.name}`);
  const ownId = await rootIdOf(first);
  if (rootId !== undefined && ownId !== rootId)
    throw new PublicationError('root-unexpected', `${own.name} holds the publication of ${ownId}, not of ${rootId}`);
  const root = verifyChain(roots);
  const timestamp = verifyTimestamp(
    await read(own, METADATA_PATH + TIMESTAMP_FILE, PUBLICATION_LIMITS.timestampLength),
    root,
    undefined,
    READER_OPTIONS,
  );
  if (timestamp === undefined) throw new Error('a timestamp without a predecessor is newer');
  const snapshot = await readSnapshot(own, root, timestamp.snapshot);
  return { rootId: ownId, root, timestamp, snapshot, ...(await rolesBelow(own, root, timestamp, snapshot)) };
}

async function readSnapshot(own: OwnMetadata, root: RootMetadata, expected: MetaFile): Promise<SnapshotMetadata> {
  const bytes = await read(own, fileOfRole('snapshot', expected.version), PUBLICATION_LIMITS.snapshotLength);
  return verifySnapshot(bytes, root, expected, READER_OPTIONS);
}

async function rolesBelow(
  own: OwnMetadata,
  root: RootMetadata,
  timestamp: TimestampMetadata,
  snapshot: SnapshotMetadata,
): Promise<Pick<Published, 'sections' | 'expiries'>> {
  const verified = async (role: string, by: Parameters<typeof verifyTargets>[2]) => {
    const expected = namedBy(snapshot, role);
    const bytes = await read(own, fileOfRole(role, expected.version), PUBLICATION_LIMITS.targetsLength);
    return verifyTargets(bytes, role, by, expected, READER_OPTIONS);
  };
  const targets = await verified('targets', { roleKeys: root.roles.targets, keys: root.keys });
  const delegation = targets.delegations.find(({ name }) => name === DOCUMENTS_ROLE);
  if (delegation === undefined) throw new PublicationError('metadata-missing', 'targets delegate no documents');
  const documents = await verified(DOCUMENTS_ROLE, { roleKeys: delegation, keys: targets.keys });
  const below = await firstToExpire(own, snapshot, binsOf(documents));
  const sections = targets.delegations.filter(({ name }) => name !== DOCUMENTS_ROLE);
  const expiryOf = (role: string, { version, expires }: RoleState | Omit<RoleState, 'role'>) => {
    return { role, version, expires };
  };
  const expiries = [expiryOf('root', root), expiryOf('targets', targets), expiryOf(DOCUMENTS_ROLE, documents)];
  for (const section of sections) {
    const role = await verified(section.name, { roleKeys: section, keys: targets.keys });
    expiries.push(expiryOf(section.name, role));
  }
  if (below) expiries.push(below);
  return { sections, expiries: [...expiries, expiryOf('snapshot', snapshot), expiryOf('timestamp', timestamp)] };
}

/** The bins of today: those of earlier numbers of bins stay in the snapshot, and nobody asks them. */
function binsOf({ bins }: TargetsMetadata): string[] {
  return bins === undefined || bins.bits > PUBLICATION_LIMITS.binBits ? [] : binNames(bins.bits);
}

async function firstToExpire(
  own: OwnMetadata,
  snapshot: SnapshotMetadata,
  roles: readonly string[],
): Promise<RoleState | undefined> {
  let first: RoleState | undefined;
  await forEachInFlight(roles, FILES_AT_A_TIME, async (role) => {
    const { version } = namedBy(snapshot, role);
    const bytes = await read(own, fileOfRole(role, version), PUBLICATION_LIMITS.targetsLength);
    const [, text] = EXPIRES.exec(Buffer.from(bytes.subarray(0, START_LENGTH)).toString('latin1')) ?? [];
    if (text === undefined) return; // not as we write it: readers will say what is wrong
    const expires = Date.parse(text) / 1000;
    const isFirst = !first || expires < first.expires || (expires === first.expires && role < first.role);
    if (isFirst) first = { role, version, expires };
  });
  return first;
}

function namedBy({ roles }: SnapshotMetadata, role: string): MetaFile {
  const file = roles.get(role);
  if (file === undefined) throw new PublicationError('metadata-missing', `the snapshot does not name ${role}`);
  return file;
}

async function readRoots(own: OwnMetadata): Promise<Uint8Array[]> {
  const roots: Uint8Array[] = [];
  while (roots.length < PUBLICATION_LIMITS.rootRotations) {
    const bytes = await own.read(fileOfRole('root', roots.length + 1), PUBLICATION_LIMITS.rootLength);
    if (bytes === undefined) break;
    roots.push(bytes);
  }
  return roots;
}

async function read(own: OwnMetadata, path: string, maximum: number): Promise<Uint8Array> {
  const bytes = await own.read(path, maximum);
  if (bytes) return bytes;
  throw missing(`there is no ${join(own.name, path.slice(METADATA_PATH.length))}`);
}

function missing(message: string): PublishError {
  return new PublishError('publication-missing', message, {
    hint: `run "wispr protect" first, or name the directory of the metadata: --metadata DIR/.well-known/wispr; ${DISK_IS_GONE}`,
  });
}
