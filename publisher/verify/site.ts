/** What is known of a site before its documents are looked at: whose it is, its publication, its descriptor. */
import { isHostProof, type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import {
  DESCRIPTOR_TARGET,
  METADATA_PATH,
  SETTINGS_TARGET,
  TIMESTAMP_FILE,
  targetFile,
} from '../../core/publication/names.ts';
import { parseSettings } from '../../core/publication/settings.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { type OpenedPublication, openPublication } from '../publication/open.ts';
import { sha256Of } from './documents.ts';
import type { VerifiedPlace } from './places.ts';
import type { ReportBuilder } from './report.ts';

export interface SiteOptions {
  /** The publisher that is expected; the one that the host proof names, if left out. */
  readonly root?: string;
  /** The site that is expected, where the descriptor names several. */
  readonly site?: string;
  /** Seconds since 1970. */
  readonly now: number;
}

export interface KnownSite {
  readonly site: string;
  /** Origin of the reading site. */
  readonly reading: string;
  readonly publisherKey: Uint8Array;
  readonly publication: OpenedPublication;
  /** Seconds since 1970. */
  readonly now: number;
}

const TIMESTAMP_PATH = METADATA_PATH + TIMESTAMP_FILE;

/**
 * Checks host proof, metadata, descriptor and settings, and reports what is wrong with them.
 *
 * @returns what documents are to be checked against; `undefined` if nothing can be
 */
export async function readSite(
  place: VerifiedPlace,
  options: SiteOptions,
  report: ReportBuilder,
): Promise<KnownSite | undefined> {
  const publication = await openAndReport(place, options, report);
  if (publication === undefined) return undefined;
  await checkProof(place, publication.rootId, options, report);
  report.about({ publisher: publication.rootId });
  await checkFreshness(publication, options.now, report);
  const descriptor = await readDescriptor(place, publication, options.now, report);
  const described = descriptor?.sites.find(({ site }) => options.site === undefined || site === options.site);
  if (descriptor === undefined) return undefined;
  if (described === undefined) {
    report.find(DESCRIPTOR_PATH, 'site-mismatch', `the descriptor does not name the site ${options.site}`);
    return undefined;
  }
  report.about({ site: described.site, expires: descriptor.expires });
  const { site, reading } = described;
  return { site, reading, publisherKey: descriptor.publisherKeyBytes, publication, now: options.now };
}

async function openAndReport(
  place: VerifiedPlace,
  { root, now }: SiteOptions,
  report: ReportBuilder,
): Promise<OpenedPublication | undefined> {
  let asked = METADATA_PATH; // files are read and verified one after the other: the last is the one that is wrong
  const read: VerifiedPlace['read'] = (path, maximum) => {
    asked = path;
    return place.read(path, maximum);
  };
  try {
    return await openPublication({ read }, { now, ...(root !== undefined && { rootId: root }) });
  } catch (error) {
    if (!(error instanceof PublicationError)) throw error;
    report.find(asked, error.code, error.message);
    return undefined;
  }
}

async function checkProof(
  place: VerifiedPlace,
  rootId: string,
  { root }: SiteOptions,
  report: ReportBuilder,
): Promise<void> {
  const proof = await place.read(HOST_PROOF_PATH, MESSAGE_LIMITS.hostProof);
  const proves = proof !== undefined && isHostProof(new TextDecoder().decode(proof), rootId);
  report.trust(root !== undefined ? 'given' : proves ? 'host-proof' : 'none');
  if (proof === undefined)
    report.find(HOST_PROOF_PATH, 'host-proof', 'there is no host proof: readers need it, here or in DNS');
  else if (!proves)
    report.find(
      HOST_PROOF_PATH,
      'host-proof',
      `the host proof does not name the publisher of this publication, ${rootId}`,
    );
}

async function checkFreshness(publication: OpenedPublication, now: number, report: ReportBuilder): Promise<void> {
  const { timestamp, snapshot } = publication.state;
  const grace = await readGrace(publication, report);
  const shownUntil = timestamp.expires + grace;
  const { version } = snapshot;
  report.about({
    publication: { version, confirmed: timestamp.version, freshUntil: timestamp.expires, shownUntil },
  });
  for (const { code, message } of publication.lateness) {
    const still = code === 'publication-expired' && now <= shownUntil;
    const rest = still ? `; readers still show it, and say so, until ${isoTime(shownUntil)}` : '';
    report.find(code === 'metadata-expired' ? METADATA_PATH : TIMESTAMP_PATH, code, message + rest);
  }
}

async function readGrace({ state, place }: OpenedPublication, report: ReportBuilder): Promise<number> {
  const target = state.targets.target(SETTINGS_TARGET);
  const path = target && targetFile(SETTINGS_TARGET, target.sha256);
  const bytes = path && (await place.read(path, PUBLICATION_LIMITS.settingsLength));
  try {
    if (!target) throw new PublicationError('metadata-missing', 'the publication has no site settings');
    // Whether they are there, and the right ones, is checked with all that `targets` names.
    return bytes ? parseSettings(bytes).grace : 0;
  } catch (error) {
    if (!(error instanceof PublicationError)) throw error;
    report.find(path || METADATA_PATH, error.code, error.message);
    return 0;
  }
}

/** An expired descriptor is reported, and still says which key to check with. */
async function readDescriptor(
  place: VerifiedPlace,
  { state, rootId }: OpenedPublication,
  now: number,
  report: ReportBuilder,
): Promise<VerifiedDescriptor | undefined> {
  const target = state.targets.target(DESCRIPTOR_TARGET);
  if (target === undefined) {
    report.find(METADATA_PATH, 'metadata-missing', 'the publication names no provider descriptor');
    return undefined;
  }
  const path = targetFile(DESCRIPTOR_TARGET, target.sha256);
  const bytes = await place.read(path, MESSAGE_LIMITS.descriptor);
  if (bytes === undefined || (await sha256Of(oneOf(bytes))) !== target.sha256) return undefined; // reported with all that `targets` names
  try {
    const descriptor = await verifyDescriptor(bytes, now).catch((error: unknown) => {
      if (!(error instanceof KeyError) || error.code !== 'descriptor-expired') throw error;
      report.find(path, error.code, error.message);
      return verifyDescriptor(bytes, 0);
    });
    if (descriptor.root === rootId) return descriptor;
    report.find(path, 'publisher-unexpected', `the descriptor is that of ${descriptor.root}`);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    report.find(path, error.code, error.message);
  }
  return undefined;
}

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
