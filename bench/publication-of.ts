/** A signed publication with very many documents, in memory: its metadata, and no objects; and a reader of it. */
import { createHash } from 'node:crypto';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toHex } from '../core/encoding/hex.ts';
import { binBitsFor, binIndex, binNames, DOCUMENTS_ROLE } from '../core/publication/bins.ts';
import type { TufObject } from '../core/publication/canonical.ts';
import { roleSigner } from '../core/publication/keys.ts';
import {
  headTargetOf,
  METADATA_PATH,
  metadataFile,
  SETTINGS_TARGET,
  TIMESTAMP_FILE,
  targetUrlPath,
} from '../core/publication/names.ts';
import { encodeSettings } from '../core/publication/settings.ts';
import { SitePublication, type SiteSource } from '../core/publication/site-publication.ts';
import { inTurn, type MetadataStore } from '../core/publication/sources.ts';
import {
  binMetadata,
  documentsMetadata,
  type FileFacts,
  factsOf,
  fileTarget,
  rootIdOf,
  rootMetadata,
  signMetadata,
  snapshotMetadata,
  targetsMetadata,
  timestampMetadata,
} from '../core/publication/writer.ts';

const VALIDITY = 86_400;
const SET = 'A'.repeat(43);

export interface LargePublication {
  readonly rootId: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly documents: number;
}

/** The path of the document with this number. */
export function pathOf(number: number): string {
  return `/archive/${number % 1000}/article-${number}.html`;
}

/** @param bits - of the number of bins; left out, as a publisher has them */
export async function publicationOf(
  documents: number,
  now: number,
  bits = binBitsFor(documents),
): Promise<LargePublication> {
  const signer = await roleSigner(ed25519KeyPair(randomBytes(32)));
  const keys = { publicKeys: [signer.publicKey], threshold: 1 };
  const about = { version: 1, expires: now + VALIDITY };
  const files = new Map<string, Uint8Array>();
  const facts = new Map<string, FileFacts>();
  const sign = async (role: string, signed: TufObject) => {
    const bytes = signMetadata(signed, [signer]);
    files.set(METADATA_PATH + metadataFile(role, 1), bytes);
    facts.set(role, await factsOf(1, bytes));
    return bytes;
  };
  const root = await sign(
    'root',
    await rootMetadata(about, { root: keys, targets: keys, snapshot: keys, timestamp: keys }),
  );
  facts.delete('root');
  for (const [name, targets] of binsOf(documents, bits)) await sign(name, binMetadata(about, targets));
  await sign(DOCUMENTS_ROLE, await documentsMetadata(about, bits, keys));
  const settings = encodeSettings({ cleanUrls: false, grace: 604_800, redirects: [] });
  const target = await fileTarget(settings);
  files.set(targetUrlPath(SETTINGS_TARGET, hash(settings).toString('hex')), settings);
  await sign('targets', await targetsMetadata(about, [[SETTINGS_TARGET, target]], keys));
  const snapshot = await sign('snapshot', snapshotMetadata(about, facts));
  const timestamp = timestampMetadata({ version: now, expires: about.expires }, await factsOf(1, snapshot));
  files.set(METADATA_PATH + TIMESTAMP_FILE, signMetadata(timestamp, [signer]));
  return { rootId: await rootIdOf(root), files, documents };
}

function binsOf(documents: number, bits: number): Map<string, [string, TufObject][]> {
  const names = binNames(bits);
  const bins = new Map(names.map((name) => [name, [] as [string, TufObject][]]));
  for (let number = 0; number < documents; number++) {
    const path = headTargetOf(pathOf(number));
    const pathHash = hash(path);
    // Any 32 bytes do for the hash of a head that is not fetched.
    const entry = { custom: { wispr: { set: SET } }, hashes: { sha256: toHex(pathHash) }, length: 1234 };
    bins.get(names[binIndex(pathHash, bits)] ?? '')?.push([path, entry]);
  }
  return bins;
}

/** The files of one host as a source. @param file - its bytes, where there is one */
export function sourceOf(file: (urlPath: string) => Promise<Uint8Array | undefined>): SiteSource {
  const metadata = (name: string) => file(METADATA_PATH + name);
  return { file, metadata, timestamps: (_, isEnough) => inTurn([() => metadata(TIMESTAMP_FILE)], isEnough) };
}

interface Asked {
  readonly fetched: Uint8Array[];
  requests: number;
}

/** A reader that begins with nothing, and looks one document up. */
export async function readCold(
  publication: LargePublication,
  now: number,
): Promise<{ readonly source: Asked; readonly site: SitePublication }> {
  const asked: Asked = { fetched: [], requests: 0 };
  const source = sourceOf(async (urlPath) => {
    asked.requests++;
    const bytes = publication.files.get(urlPath);
    if (bytes) asked.fetched.push(bytes);
    return bytes;
  });
  const site = new SitePublication({ rootId: publication.rootId, source, store: emptyStore() });
  await site.refresh(now);
  const entry = await site.document(pathOf(0), now);
  if (entry === undefined) throw new Error('the document is not in the publication');
  return { source: asked, site };
}

/** A store in memory. */
export function emptyStore(): MetadataStore {
  const kept = new Map<string, Uint8Array>();
  return { read: async (name) => kept.get(name), write: async (name, bytes) => void kept.set(name, bytes) };
}

/** A number of a document: spread over all of them, and the same in every run. @param count - of the ones before */
export function spread(count: number, documents: number): number {
  return (count * 618_033_989) % documents;
}

function hash(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest();
}
