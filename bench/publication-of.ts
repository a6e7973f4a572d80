/** A signed publication with very many documents, in memory: its metadata, and no objects; and a reader of it. */
import { sha256 } from '#primitives';
import { utf8 } from '../core/encoding/bytes.ts';
import { toHex } from '../core/encoding/hex.ts';
import { headTargetOf, METADATA_PATH, TIMESTAMP_FILE } from '../core/publication/names.ts';
import { SitePublication, type SiteSource } from '../core/publication/site-publication.ts';
import { inTurn, type MetadataStore } from '../core/publication/sources.ts';
import { TestPublication } from '../tests/support/test-publication.ts';

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
export async function publicationOf(documents: number, now: number, bits = 1): Promise<LargePublication> {
  const made = await TestPublication.create(now);
  made.bits = bits;
  for (let number = 0; number < documents; number++) {
    const path = headTargetOf(pathOf(number));
    // The hash of a head that is not fetched may be any 32 bytes.
    const hashes = { sha256: toHex(await sha256(utf8(path))) };
    made.documents.set(path, { custom: { wispr: { set: SET } }, hashes, length: 1234 });
  }
  await made.publish(now);
  return { rootId: made.rootId, files: made.files, documents };
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
