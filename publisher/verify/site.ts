/** Reads what is known of a site before its documents are looked at: its publisher, its publication, its descriptor. */
import { hexDigest } from '../../core/encoding/digest.ts';
import { isHostProof, isServerless, type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { PublicationClient, type TrustedState } from '../../core/publication/client.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { ifGood, PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { isoTime, parseTimestamp } from '../../core/publication/metadata.ts';
import {
  DESCRIPTOR_TARGET,
  FIRST_ROOT_FILE,
  METADATA_PATH,
  SETTINGS_TARGET,
  TIMESTAMP_FILE,
  targetFile,
} from '../../core/publication/names.ts';
import type { OfferedPlan } from '../../core/publication/offers.ts';
import type { ReaderProgram } from '../../core/publication/reader-program.ts';
import { parseSettings, type SiteSettings } from '../../core/publication/settings.ts';
import { inTurn } from '../../core/publication/sources.ts';
import { checkExpiry, checkNotFuture, checkTimestampExpiry } from '../../core/publication/verify-roles.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import { TIMESTAMP_PATH } from '../publication/files.ts';
import type { OpenPublication } from '../publication/roles.ts';
import type { PublicationSource } from '../publication/sources.ts';
import type { VerifyReport } from './report.ts';
import type { VerifiedSource } from './sources.ts';

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
  readonly reading: string;
  readonly keyServer: string;
  readonly serverless: boolean;
  readonly name: string;
  readonly content: readonly string[];
  readonly root: string;
  readonly accent: string | undefined;
  /** Program that browsers should get, by the settings. */
  readonly program: ReaderProgram | undefined;
  /** Offers of the settings to strangers. */
  readonly plans: readonly OfferedPlan[] | undefined;
  readonly subscribe: string | undefined;
  readonly publisherKey: Uint8Array;
  readonly publication: OpenPublication;
  /** Seconds since 1970. */
  readonly now: number;
}

/**
 * Checks host proof, metadata, descriptor and settings, and reports what is wrong with them.
 *
 * @returns what documents are to be checked against; `undefined` if nothing can be
 */
export async function readSite(
  source: VerifiedSource,
  options: SiteOptions,
  report: VerifyReport,
): Promise<KnownSite | undefined> {
  const publication = await openAndReport(source, options, report);
  if (publication === undefined) return undefined;
  report.publisher = publication.rootId;
  await checkProof(source, publication.rootId, options, report);
  const settings = await readSettings(publication, report);
  checkFreshness(publication, settings?.grace ?? 0, options.now, report);
  const descriptor = await readDescriptor(publication, options.now, report);
  const described = descriptor?.sites.find(({ site }) => options.site === undefined || site === options.site);
  if (descriptor === undefined) return undefined;
  if (described === undefined) {
    report.find(DESCRIPTOR_PATH, 'site-mismatch', `the descriptor does not name the site ${options.site}`);
    return undefined;
  }
  const { site, reading, content } = described;
  report.site = site;
  report.expires = descriptor.expires;
  const { publisherKeyBytes: publisherKey } = descriptor;
  const { accent, plans, subscribe, reader: program } = settings ?? {};
  const about = {
    site,
    keyServer: descriptor.keyServer,
    reading,
    content,
    program,
    serverless: isServerless(described),
    name: descriptor.name,
    accent,
    plans,
    subscribe,
  };
  return { ...about, root: publication.rootId, publisherKey, publication, now: options.now };
}

interface VerifiedPublication extends OpenPublication {
  readonly rootId: string;
  readonly state: TrustedState;
}

async function openAndReport(
  source: VerifiedSource,
  options: SiteOptions,
  report: VerifyReport,
): Promise<VerifiedPublication | undefined> {
  let asked = METADATA_PATH; // files are read and verified one after the other: the last is the one that is wrong
  const read: VerifiedSource['read'] = (path, maximum) => {
    asked = path;
    return source.read(path, maximum);
  };
  try {
    return { ...(await openPublication({ read }, options)), source };
  } catch (error) {
    if (!(error instanceof PublicationError)) throw error;
    report.find(asked, error.code, error.message);
    return undefined;
  }
}

/** Opens a publication as a reader does who begins anew, but at the time when its timestamp was signed. */
async function openPublication(
  source: PublicationSource,
  { root, now }: SiteOptions,
): Promise<Pick<VerifiedPublication, 'rootId' | 'state'>> {
  const metadata = (file: string, maximum: number) => source.read(METADATA_PATH + decodeURIComponent(file), maximum);
  const firstRoot = await metadata(FIRST_ROOT_FILE, PUBLICATION_LIMITS.rootLength);
  if (firstRoot === undefined) throw new PublicationError('metadata-missing', `there is no ${FIRST_ROOT_FILE}`);
  const rootId = await rootIdOf(firstRoot);
  if (root !== undefined && rootId !== root)
    throw new PublicationError('root-unexpected', `the first root is that of ${rootId}, not of ${root}`);
  const kept = new Map<string, Uint8Array>();
  const timestamp = (maximum: number) => metadata(TIMESTAMP_FILE, maximum);
  const client = new PublicationClient({
    source: { metadata, timestamps: (maximum, isEnough) => inTurn([() => timestamp(maximum)], isEnough) },
    store: { read: async (name) => kept.get(name), write: async (name, bytes) => void kept.set(name, bytes) },
    firstRoot: async () => firstRoot,
    ...READER_OPTIONS,
    grace: 0,
  });
  // The time is only tried: the signature is checked like all others.
  const signed = await timeOf(await timestamp(PUBLICATION_LIMITS.timestampLength));
  await client.refresh(signed ?? now).catch((error: unknown) => {
    // A timestamp that ends before it was signed is good at no time: then today's clock is the one to name.
    if (error instanceof PublicationError && MATTERS_OF_TIME.includes(error.code)) return client.refresh(now);
    throw error;
  });
  client.checkOpen();
  if (client.state === undefined) throw new PublicationError('metadata-missing', 'there is no publication');
  return { rootId, state: client.state };
}

/** Errors that are a matter of time alone. */
const MATTERS_OF_TIME: readonly string[] = ['metadata-expired', 'publication-expired', 'clock-off'];

/** Returns the time of signing of a timestamp, if any. */
async function timeOf(timestamp: Uint8Array | undefined): Promise<number | undefined> {
  return timestamp && ifGood(() => parseTimestamp(openEnvelope(timestamp, 'timestamp').signed()).version);
}

async function checkProof(
  source: VerifiedSource,
  rootId: string,
  { root }: SiteOptions,
  report: VerifyReport,
): Promise<void> {
  const proof = await source.read(HOST_PROOF_PATH, MESSAGE_LIMITS.hostProof);
  const proves = proof !== undefined && isHostProof(new TextDecoder().decode(proof), rootId);
  report.trust = root !== undefined ? 'given' : proves ? 'host-proof' : 'none';
  if (proves) return;
  const message = proof
    ? `the host proof does not name the publisher of this publication, ${rootId}`
    : 'there is no host proof: readers need it, here or in DNS';
  report.find(HOST_PROOF_PATH, 'host-proof', message);
}

/** Reports everything that has expired, or comes from the future. */
function checkFreshness({ state }: VerifiedPublication, grace: number, now: number, report: VerifyReport): void {
  const { root, timestamp, snapshot, targets } = state;
  const shownUntil = timestamp.expires + grace;
  const { version: confirmed, expires: freshUntil } = timestamp;
  report.publication = { version: snapshot.version, confirmed, freshUntil, shownUntil };
  const still = now <= shownUntil ? `; readers still show it, and say so, until ${isoTime(shownUntil)}` : '';
  findLate(report, TIMESTAMP_PATH, () => checkNotFuture(timestamp, now, READER_OPTIONS));
  findLate(report, TIMESTAMP_PATH, () => checkTimestampExpiry(timestamp, now, 0), still);
  for (const [role, metadata] of Object.entries({ root, snapshot, targets }))
    findLate(report, METADATA_PATH, () => checkExpiry(role, metadata, now));
}

function findLate(report: VerifyReport, path: string, check: () => void, rest = ''): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof PublicationError)) throw error;
    report.find(path, error.code, error.message + rest);
  }
}

async function readSettings(
  { state, source }: VerifiedPublication,
  report: VerifyReport,
): Promise<SiteSettings | undefined> {
  const target = state.targets.target(SETTINGS_TARGET);
  const path = target && targetFile(SETTINGS_TARGET, target.sha256);
  const bytes = path && (await source.read(path, PUBLICATION_LIMITS.settingsLength));
  try {
    if (!target) throw new PublicationError('metadata-missing', 'the publication has no site settings');
    // Presence and content of the settings are checked with all that `targets` names.
    return bytes ? parseSettings(bytes) : undefined;
  } catch (error) {
    if (!(error instanceof PublicationError)) throw error;
    report.find(path || METADATA_PATH, error.code, error.message);
    return undefined;
  }
}

/** Reads the descriptor; an expired one is reported, and still says which key to check with. */
async function readDescriptor(
  { state, rootId, source }: VerifiedPublication,
  now: number,
  report: VerifyReport,
): Promise<VerifiedDescriptor | undefined> {
  const target = state.targets.target(DESCRIPTOR_TARGET);
  if (target === undefined) {
    report.find(METADATA_PATH, 'metadata-missing', 'the publication names no provider descriptor');
    return undefined;
  }
  const path = targetFile(DESCRIPTOR_TARGET, target.sha256);
  const bytes = await source.read(path, MESSAGE_LIMITS.descriptor);
  if (bytes === undefined || (await hexDigest(bytes)) !== target.sha256) return undefined; // reported with all that `targets` names
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
