/** Checks everything that a publication names, one bin at a time. */
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { isoTime } from '../../core/publication/metadata.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { DESCRIPTOR_PATH } from '../../core/site/well-known.ts';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import { filesOf, ownTargetFiles } from '../publication/files.ts';
import {
  contentsOf,
  delegatedRoles,
  fileOfRole,
  metadataFilesOf,
  type PublishedDocument,
} from '../publication/roles.ts';
import type { PathSet } from '../publish/inventory.ts';
import { DocumentCheck, sha256Of } from './documents.ts';
import type { VerifyReport } from './report.ts';
import type { KnownSite } from './site.ts';
import { Unreadable, type VerifiedSource } from './sources.ts';

export interface PublicationCheckOptions {
  /** Documents that are looked at; all, if left out. */
  readonly choice?: DocumentChoice | undefined;
  /** Takes the paths of all files that belong to the publication. */
  readonly named?: PathSet;
  readonly onProgress?: ((progress: { readonly done: number; readonly total: number | undefined }) => void) | undefined;
}

/** Picks documents while they come by. */
export interface DocumentChoice {
  consider(document: PublishedDocument): void;
  chosen(): Iterable<PublishedDocument>;
  /** Says in plain words what was left out. */
  note(): string;
}

export async function checkPublication(
  site: KnownSite,
  source: VerifiedSource,
  report: VerifyReport,
  { choice, named, onProgress }: PublicationCheckOptions,
): Promise<void> {
  const documents = new DocumentCheck(site, source, report);
  await checkOwnTargets(site, source, report, named);
  const seen = new Set(['targets']);
  const sections = site.publication.state.targets.delegations
    .map(({ name }) => name)
    .filter((name) => name !== DOCUMENTS_ROLE);
  let done = 0;
  const check = async (document: PublishedDocument) => {
    await documents.check(document);
    onProgress?.({ done: ++done, total: undefined });
  };
  for await (const role of delegatedRoles(site.publication)) {
    seen.add(role.name);
    const file = fileOfRole(role.name, role.file.version);
    if (role.failure) report.find(file, role.failure.code, role.failure.message);
    if (role.role && role.role.expires < site.now)
      report.find(file, 'metadata-expired', `${role.name} expired on ${isoTime(role.role.expires)}`);
    const contents = await contentsOf(role);
    if (sections.includes(role.name)) report.sections.push({ name: role.name, documents: contents.documents.length });
    for (const { code, message } of contents.wrong) report.find(file, code, message);
    for (const document of contents.documents) {
      choice?.consider(document);
      if (named) for (const { path } of filesOf(document)) named.add(path);
    }
    if (!choice) await forEachInFlight(contents.documents, source.inFlight, check);
  }
  if (choice) await forEachInFlight(choice.chosen(), source.inFlight, check);
  await checkOtherMetadata(site, source, report, seen, named);
}

/** Checks descriptor and settings, at the names that the role `targets` gives them; and the descriptor at its own. */
async function checkOwnTargets(
  site: KnownSite,
  source: VerifiedSource,
  report: VerifyReport,
  named: PathSet | undefined,
): Promise<void> {
  const { state } = site.publication;
  for (const { path } of ownTargetFiles(state)) {
    named?.add(path);
    const hash = /\/([0-9a-f]{64})\.[^/]*$/.exec(path)?.[1];
    await checkHash(source, report, path, hash);
  }
  const plain = await source.open(DESCRIPTOR_PATH);
  const hash = state.targets.target(DESCRIPTOR_PATH.slice(1))?.sha256;
  if (plain && (await sha256Of(plain)) !== hash)
    report.find(DESCRIPTOR_PATH, 'file-altered', 'not the descriptor that the publication names');
}

/** Checks bins of earlier numbers: the snapshot goes on naming them, and readers do not fetch them. */
async function checkOtherMetadata(
  site: KnownSite,
  source: VerifiedSource,
  report: VerifyReport,
  seen: ReadonlySet<string>,
  named: PathSet | undefined,
): Promise<void> {
  const { state } = site.publication;
  for (const path of metadataFilesOf(state)) named?.add(path);
  for (const [role, file] of state.snapshot.roles) {
    if (seen.has(role)) continue;
    const path = fileOfRole(role, file.version);
    if ((file.length ?? 0) > PUBLICATION_LIMITS.targetsLength)
      report.find(METADATA_PATH, 'metadata-too-large', `the snapshot gives ${path} too many bytes`);
    else await checkHash(source, report, path, file.sha256);
  }
}

async function checkHash(
  source: VerifiedSource,
  report: VerifyReport,
  path: string,
  hash: string | undefined,
): Promise<void> {
  try {
    const stream = await source.open(path);
    if (stream === undefined) report.find(path, 'file-missing', 'this file is not there');
    else if ((await sha256Of(stream)) !== hash)
      report.find(path, 'file-altered', 'not the file that the publication names');
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    report.find(path, 'unreadable', error.message);
  }
}
