/** Documents that a sync is to fetch: those of a publication that the reader wants and has keys for, and what is here already. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { CodedError } from '../../core/errors.ts';
import { verifyBlocks } from '../../core/object/blocks.ts';
import { readHead } from '../../core/object/read-head.ts';
import { type FailedList, listDocuments } from '../../core/publication/listing.ts';
import { expectationOf, type WantedDocument } from '../../reading/open-at.ts';
import type { ObjectCache } from '../documents/cache/object-cache.ts';
import type { BoundSite } from '../site/bound-sites.ts';
import { isLastingRefusal } from '../site/key-finder.ts';
import type { FailedDocument, RefusedSet, SyncWish } from './types.ts';

export interface Listing {
  readonly documents: readonly WantedDocument[];
  readonly refused: readonly RefusedSet[];
  readonly withoutKey: readonly RefusedSet[];
  /** Lists of the publication that are no good, so that their content is not known. */
  readonly failed: readonly FailedDocument[];
  /** Heads of all documents that the publication names, wanted or not; any could be, where a list is no good. */
  readonly named: Pick<ReadonlySet<string>, 'has'>;
  /** Time at which the first of the keys ends; seconds since 1970. */
  readonly keysUntil: number;
}

/** Reads the whole publication, and asks for all keys that are needed. */
export async function listWanted(bound: BoundSite, wish: SyncWish, now: number): Promise<Listing> {
  const { site, publisherKey, publication } = bound;
  const all: WantedDocument[] = [];
  const heads = new Set<string>();
  const failed: FailedDocument[] = [];
  const record = ({ name, error: { code, message } }: FailedList) => failed.push({ path: name, code, message });
  for await (const { path, entry } of listDocuments(publication.publication, now, record)) {
    heads.add(entry.head);
    if (isWanted(path, entry.set, wish)) all.push({ site, path, publisherKey, entry });
  }
  const keys = await askForKeys(all, bound);
  const without = new Set<KeyId | undefined>([...keys.refused, ...keys.withoutKey].map(({ set }) => set));
  const named = failed.length > 0 ? { has: () => true } : heads;
  return { documents: all.filter(({ entry }) => !without.has(entry.set)), failed, ...keys, named };
}

function isWanted(path: string, set: KeyId | undefined, { sets, prefixes }: SyncWish): boolean {
  if (sets !== undefined && !sets.includes(set ?? 'public')) return false;
  return prefixes === undefined || prefixes.some((prefix) => path.startsWith(prefix));
}

/** Asks for all keys at once: they travel in few requests. */
async function askForKeys(
  documents: readonly WantedDocument[],
  { keys }: BoundSite,
): Promise<Pick<Listing, 'refused' | 'withoutKey' | 'keysUntil'>> {
  const counts = new Map<KeyId, number>();
  for (const { entry } of documents)
    if (entry.set !== undefined) counts.set(entry.set, (counts.get(entry.set) ?? 0) + 1);
  const refused: RefusedSet[] = [];
  const withoutKey: RefusedSet[] = [];
  let keysUntil = Number.POSITIVE_INFINITY;
  await Promise.all(
    Array.from(counts, async ([set, count]) => {
      try {
        keysUntil = Math.min(keysUntil, (await keys.find(set)).notAfter);
      } catch (error) {
        if (!(error instanceof CodedError)) throw error;
        const list = isLastingRefusal(error) ? refused : withoutKey;
        list.push({ set, documents: count, code: error.code, message: error.message });
      }
    }),
  );
  return { refused, withoutKey, keysUntil };
}

/** Length of an object that the cache has whole. A damaged one is dropped: better now than on the train. */
export async function lengthIfKept(cache: ObjectCache, document: WantedDocument): Promise<number | undefined> {
  const { site, entry } = document;
  const stored = cache.find(site, entry.head);
  if (stored === undefined) return undefined;
  try {
    const head = await readHead(new ByteReader(stored.from(0, entry.headLength)), expectationOf(document));
    await verifyBlocks(head, new ByteReader(stored.from(entry.headLength)));
    return stored.length;
  } catch {
    cache.drop(site, entry.head);
    return undefined;
  } finally {
    stored.close();
  }
}
