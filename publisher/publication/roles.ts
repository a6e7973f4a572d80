/** Goes through everything that a publication names, one delegated role at a time, so that memory holds one bin however large the site is. */
import { binFor, binNames, DOCUMENTS_ROLE, delegates, pathHashOf } from '../../core/publication/bins.ts';
import type { TrustedState } from '../../core/publication/client.ts';
import type { Delegator } from '../../core/publication/delegations.ts';
import { type DocumentEntry, documentEntryOf } from '../../core/publication/document-entry.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { Delegation, MetaFile, TargetInfo, TargetsMetadata } from '../../core/publication/metadata.ts';
import { documentPathOfHead, METADATA_PATH, metadataFile } from '../../core/publication/names.ts';
import { verifyTargets } from '../../core/publication/verify-roles.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import type { PublicationSource } from './sources.ts';

/** A publication, whether or not a timestamp names it, and where it lies. */
export interface OpenPublication {
  readonly state: Omit<TrustedState, 'timestamp'>;
  readonly source: PublicationSource;
}

/** A delegated role: a section, `documents`, or a bin. */
export interface DelegatedRole {
  readonly name: string;
  readonly file: MetaFile;
  /** `undefined`: it was asked for, and {@link failure} says why it cannot be had. */
  readonly role: TargetsMetadata | undefined;
  readonly failure: PublicationError | undefined;
  answersFor(targetPath: string): Promise<boolean>;
}

export interface PublishedDocument {
  readonly path: string;
  readonly entry: DocumentEntry;
}

export interface RoleContents {
  readonly documents: readonly PublishedDocument[];
  /** Errors of targets that readers are never sent to, or would refuse. */
  readonly wrong: readonly PublicationError[];
}

export interface Selection {
  /** Names of lists that are wanted whole. */
  readonly lists: ReadonlySet<string>;
  /** Target paths that are wanted by themselves, and their hashes. */
  readonly targets: ReadonlyMap<string, Uint8Array>;
}

/**
 * Yields the delegated roles of a publication, in the order in which readers ask them.
 *
 * @param selection - left out: all; otherwise no other list is read than can have some of it, but for that of the bins
 */
export async function* delegatedRoles(
  publication: OpenPublication,
  selection?: Selection,
): AsyncGenerator<DelegatedRole> {
  const { delegations, keys } = publication.state.targets;
  for (const [index, delegation] of delegations.entries()) {
    const before = delegations.slice(0, index).filter(({ terminating }) => terminating);
    const answersFor = async (path: string) => {
      const pathHash = await pathHashOf(path);
      return delegates(delegation, path, pathHash) && !before.some((other) => delegates(other, path, pathHash));
    };
    const isWanted = !selection || delegation.name === DOCUMENTS_ROLE || isSection(delegation, selection);
    if (!isWanted) continue;
    const found = await readRole(publication, delegation.name, { roleKeys: delegation, keys }, answersFor);
    yield found;
    if (delegation.name === DOCUMENTS_ROLE && found.role) yield* binsOf(publication, found.role, answersFor, selection);
  }
}

function isSection(delegation: Delegation, { lists, targets }: Selection): boolean {
  return lists.has(delegation.name) || [...targets].some(([path, hash]) => delegates(delegation, path, hash));
}

async function* binsOf(
  publication: OpenPublication,
  { bins, keys }: TargetsMetadata,
  answersAbove: (path: string) => Promise<boolean>,
  selection: Selection | undefined,
): AsyncGenerator<DelegatedRole> {
  if (bins === undefined || bins.bits > PUBLICATION_LIMITS.binBits) return;
  const wanted = selection && new Set(Array.from(selection.targets.values(), (pathHash) => binFor(pathHash, bins)));
  for (const name of binNames(bins.bits, bins.namePrefix)) {
    if (wanted && !wanted.has(name) && !selection?.lists.has(name)) continue;
    yield await readRole(publication, name, { roleKeys: bins, keys }, async (path) => {
      return binFor(await pathHashOf(path), bins) === name && answersAbove(path);
    });
  }
}

async function readRole(
  { state, source }: OpenPublication,
  name: string,
  delegator: Delegator,
  answersFor: DelegatedRole['answersFor'],
): Promise<DelegatedRole> {
  const file = state.snapshot.roles.get(name);
  const nothing = { version: 0, length: undefined, sha256: undefined };
  if (file === undefined) {
    const failure = new PublicationError('metadata-missing', `the snapshot does not name ${name}`);
    return { name, file: nothing, role: undefined, failure, answersFor };
  }
  try {
    const length = Math.min(file.length ?? 0, PUBLICATION_LIMITS.targetsLength);
    const bytes = await source.read(fileOfRole(name, file.version), length);
    if (bytes === undefined)
      throw new PublicationError('metadata-missing', `there is no ${metadataFile(name, file.version)}`);
    const role = await verifyTargets(bytes, name, delegator, file, READER_OPTIONS);
    return { name, file, role, failure: undefined, answersFor };
  } catch (error) {
    if (!(error instanceof PublicationError)) throw error;
    return { name, file, role: undefined, failure: error, answersFor };
  }
}

export function fileOfRole(role: string, version: number): string {
  return METADATA_PATH + decodeURIComponent(metadataFile(role, version));
}

/** Yields the metadata files that belong to a state, but for the timestamp: roots, then what they are about, the snapshot last. */
export function* metadataFilesOf({ root, snapshot }: Pick<TrustedState, 'root' | 'snapshot'>): Generator<string> {
  for (let version = 1; version <= root.version; version++) yield fileOfRole('root', version);
  for (const [role, { version }] of snapshot.roles) yield fileOfRole(role, version);
  yield fileOfRole('snapshot', snapshot.version);
}

/** Sorts out what a role names. @param selection - left out: all */
export async function contentsOf(
  { name, role, answersFor }: DelegatedRole,
  selection?: Selection,
): Promise<RoleContents> {
  const documents: PublishedDocument[] = [];
  const wrong: PublicationError[] = [];
  const isWhole = !selection || selection.lists.has(name);
  for (const targetPath of role?.targetPaths() ?? []) {
    if (!isWhole && !selection.targets.has(targetPath)) continue;
    try {
      const target = role?.target(targetPath);
      if (target === undefined) continue;
      if (!(await answersFor(targetPath)))
        throw malformed(`readers never ask ${name} for ${JSON.stringify(targetPath)}, which it names`);
      if (target.custom?.wispr !== undefined) documents.push(documentOf(targetPath, target)); // others are contents
    } catch (error) {
      if (!(error instanceof PublicationError)) throw error;
      wrong.push(error);
    }
  }
  return { documents, wrong };
}

function documentOf(targetPath: string, target: TargetInfo): PublishedDocument {
  const path = documentPathOfHead(targetPath);
  if (path === undefined) throw malformed(`no document can have its head at ${JSON.stringify(targetPath)}`);
  return { path, entry: documentEntryOf(target, path) };
}

function malformed(message: string): PublicationError {
  return new PublicationError('metadata-malformed', message);
}

export interface RoleState extends RoleExpiry {
  readonly version: number;
}

/** Finds when each role of a publication has to be signed again; of the bins, the first. */
export async function expiriesOf({ state, source }: OpenPublication): Promise<RoleState[]> {
  const roles: RoleState[] = [];
  for await (const { name, role } of delegatedRoles({ state, source }))
    if (role) roles.push({ role: name, version: role.version, expires: role.expires });
  return withTopRoles(state, roles);
}

/**
 * Finds what {@link expiriesOf} does, by the notes of the publication, so that no list has to be read.
 *
 * @param noted - every list, by its name; `expires` is 0 where it is not known
 */
export async function expiriesIn(
  noted: ReadonlyMap<string, Pick<RoleState, 'version' | 'expires'>>,
  publication: OpenPublication,
): Promise<RoleState[]> {
  const { delegations } = publication.state.targets;
  const bins = [...noted.keys()].filter(
    (name) => name.startsWith(BIN_NAME) && !delegations.some((one) => one.name === name),
  );
  const roles = [...delegations.map(({ name }) => name), ...bins].map((role) => {
    const { version = 0, expires = 0 } = noted.get(role) ?? {};
    return { role, version, expires };
  });
  const isKnown = roles.every(({ expires }) => expires > 0);
  return isKnown ? withTopRoles(publication.state, roles) : expiriesOf(publication);
}

const BIN_NAME = `${DOCUMENTS_ROLE}-`;

function withTopRoles(state: OpenPublication['state'], roles: readonly RoleState[]): RoleState[] {
  const bins = roles.filter(({ role }) => role.startsWith(BIN_NAME)).sort((a, b) => a.expires - b.expires);
  const named = roles.filter(({ role }) => !role.startsWith(BIN_NAME));
  const top = (role: 'root' | 'targets' | 'snapshot') => {
    const { version, expires } = state[role];
    return { role, version, expires };
  };
  const first = bins[0] ? [{ ...bins[0], role: 'bins' }] : [];
  return [top('root'), top('targets'), ...named, ...first, top('snapshot')];
}
