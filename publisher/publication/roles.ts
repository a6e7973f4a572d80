/** Goes through everything that a publication names, one delegated role at a time, so that memory holds one bin however large the site is. */
import { binFor, binNames, DOCUMENTS_ROLE, delegates, pathHashOf } from '../../core/publication/bins.ts';
import type { TrustedState } from '../../core/publication/client.ts';
import type { Delegator } from '../../core/publication/delegations.ts';
import { type DocumentEntry, documentEntryOf } from '../../core/publication/document-entry.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { MetaFile, TargetInfo, TargetsMetadata } from '../../core/publication/metadata.ts';
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
  /** Whether readers ask this role for a target. */
  answersFor(targetPath: string): Promise<boolean>;
}

/** A document that a publication names. */
export interface PublishedDocument {
  readonly path: string;
  readonly entry: DocumentEntry;
}

/** What a role names, sorted out. */
export interface RoleContents {
  readonly documents: readonly PublishedDocument[];
  /** What is wrong with targets that readers are never sent to, or would refuse. */
  readonly wrong: readonly PublicationError[];
}

/** The delegated roles of a publication, in the order in which readers ask them. */
export async function* delegatedRoles(publication: OpenPublication): AsyncGenerator<DelegatedRole> {
  const { delegations, keys } = publication.state.targets;
  for (const [index, delegation] of delegations.entries()) {
    const before = delegations.slice(0, index).filter(({ terminating }) => terminating);
    const answersFor = async (path: string) => {
      const pathHash = await pathHashOf(path);
      return delegates(delegation, path, pathHash) && !before.some((other) => delegates(other, path, pathHash));
    };
    const found = await readRole(publication, delegation.name, { roleKeys: delegation, keys }, answersFor);
    yield found;
    if (delegation.name === DOCUMENTS_ROLE && found.role) yield* binsOf(publication, found.role, answersFor);
  }
}

async function* binsOf(
  publication: OpenPublication,
  { bins, keys }: TargetsMetadata,
  answersAbove: (path: string) => Promise<boolean>,
): AsyncGenerator<DelegatedRole> {
  if (bins === undefined || bins.bits > PUBLICATION_LIMITS.binBits) return;
  for (const name of binNames(bins.bits, bins.namePrefix)) {
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

/** The path of a role's metadata, as its file is called. */
export function fileOfRole(role: string, version: number): string {
  return METADATA_PATH + decodeURIComponent(metadataFile(role, version));
}

/** Every metadata file that belongs to a state, but for the timestamp: roots, then what they are about, the snapshot last. */
export function* metadataFilesOf({ root, snapshot }: Pick<TrustedState, 'root' | 'snapshot'>): Generator<string> {
  for (let version = 1; version <= root.version; version++) yield fileOfRole('root', version);
  for (const [role, { version }] of snapshot.roles) yield fileOfRole(role, version);
  yield fileOfRole('snapshot', snapshot.version);
}

/** Sorts out what a role names. */
export async function contentsOf({ name, role, answersFor }: DelegatedRole): Promise<RoleContents> {
  const documents: PublishedDocument[] = [];
  const wrong: PublicationError[] = [];
  for (const targetPath of role?.targetPaths() ?? []) {
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

/** A role as it stands in a publication. */
export interface RoleState extends RoleExpiry {
  readonly version: number;
}

/** When each role of a publication has to be signed again; of the bins, the first. */
export async function expiriesOf({ state, source }: OpenPublication): Promise<RoleState[]> {
  const named: RoleState[] = [];
  let bins: RoleState | undefined;
  for await (const { name, role } of delegatedRoles({ state, source })) {
    if (role === undefined) continue;
    const { version, expires } = role;
    if (!name.startsWith(`${DOCUMENTS_ROLE}-`)) named.push({ role: name, version, expires });
    else if (bins === undefined || expires < bins.expires) bins = { role: 'bins', version, expires };
  }
  const top = (role: 'root' | 'targets' | 'snapshot') => {
    const { version, expires } = state[role];
    return { role, version, expires };
  };
  return [top('root'), top('targets'), ...named, ...(bins ? [bins] : []), top('snapshot')];
}
