/**
 * A key store that is older than what was published, because it was put back from a copy: the number of a publication goes into it before anything
 * of that is signed. What was replaced since must not come back. Which keys that were, the key store does not know; set keys can be made anew.
 */
import { join } from 'node:path';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { METADATA_PATH, metadataFile } from '../../core/publication/names.ts';
import { PublishError } from '../errors.ts';
import type { PublisherIndex } from '../index/publisher-index.ts';
import { readIfThere } from '../keys/file-update.ts';
import type { KeyStoreContents, OpenKeyStore } from '../keys/key-store.ts';
import { verifyChain } from '../keys/roots.ts';
import { openPublication } from '../publication/open.ts';
import { placeInDirectory } from '../publication/places.ts';
import { contentsOf, delegatedRoles } from '../publication/roles.ts';
import { count, someOf } from '../text.ts';
import type { RunKeys } from './keys.ts';
import { checkNumbers } from './numbers.ts';
import type { InspectedOutput } from './output.ts';

/** How a key store stands to what was published. */
export interface OlderKeys {
  /** The number of the last publication that it knows. */
  readonly known: number;
  /** The highest number of a publication that is known here. */
  readonly published: number;
  /** Sets whose keys in it may have been replaced since. */
  readonly sets: ReadonlySet<string>;
  /** Key ids under which the output has documents, where all of them are here. */
  readonly shown: ReadonlySet<string | undefined>;
  /** Whether its publisher key is another than the one of the last run. */
  readonly otherPublisher: boolean;
}

/**
 * A copy may have used the same numbers: so where the index knows nothing of what the output shows, that has to be under keys that are here.
 *
 * @returns `undefined` for a key store that is known to be the one that the last publication was made with
 * @throws PublishError `number-out-of-bounds`
 */
export async function olderKeysOf(
  keys: RunKeys,
  index: PublisherIndex,
  { newest, signed: { others } }: InspectedOutput,
  out: string,
): Promise<OlderKeys | undefined> {
  const known = keys.contents.publication;
  const indexed = Number(index.fact('version') ?? 0);
  const published = Math.max(indexed, newest);
  checkNumbers(out, known, published);
  if (known >= published && others === undefined) return undefined;
  const unchanged = others === undefined && indexed === published ? setsAsPublished(keys, index) : new Set<string>();
  const shown = known >= published ? await idsUnder(keys, out) : undefined;
  const sets = shown ? [] : [...keys.contents.sets.keys()].filter((name) => !unchanged.has(name));
  const publisher = index.fact('publisher');
  const otherPublisher = publisher !== undefined && publisher !== keys.store.publisher.id;
  return { known, published, sets: new Set(sets), shown: shown ?? new Set(), otherPublisher };
}

/** The keys of all documents of the publication in the output; `undefined` if not all of them are here, or nobody can tell. */
async function idsUnder(keys: RunKeys, out: string): Promise<Set<string | undefined> | undefined> {
  const found = new Set<string | undefined>();
  const here = new Set<string | undefined>([undefined, ...(await keys.everyId())]);
  try {
    const publication = await openPublication(placeInDirectory(out), { rootId: keys.store.rootId, now: 0 });
    for await (const role of delegatedRoles(publication)) {
      if (role.failure) return undefined;
      for (const { entry } of (await contentsOf(role)).documents) found.add(entry.set);
    }
    return [...found].every((id) => here.has(id)) ? found : undefined;
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}

/**
 * Keys that a root has taken away sign for nobody: a publication by them, below that root, would be good for no reader.
 *
 * @throws PublishError `key-store-older`
 */
export async function checkRootsKnown(out: string, { store }: Pick<RunKeys, 'store'>): Promise<void> {
  const { roots } = store;
  for (let version = 2; version <= roots.length + 1; version++) {
    const bytes = await rootIn(out, version);
    const own = roots[version - 1];
    if (bytes === undefined || (own && equalBytes(bytes, own)) || !follows(bytes, roots.slice(0, version - 1)))
      continue;
    if (own && equalBytes(openEnvelope(bytes, 'root').message, openEnvelope(own, 'root').message)) continue; // signed by others too
    const what = own
      ? `another root ${version} than publisher.keys knows of`
      : `root ${await newestAfter([...roots, bytes], out)}, and publisher.keys knows none after ${roots.length}`;
    throw new PublishError('key-store-older', `${out} has ${what}`, {
      hint: 'bring the publisher.keys that knows it, from after that change of keys; without it, nobody can sign below that root',
    });
  }
}

/**
 * Why keys that are here do not sign for what is in `out`.
 *
 * @throws PublishError `key-store-older` where they are from before; else `error` itself
 */
export async function explainUnknownSigner(
  error: unknown,
  out: string,
  store: () => Promise<OpenKeyStore>,
): Promise<never> {
  if (error instanceof PublishError && error.code === 'signer-unknown')
    await checkRootsKnown(out, { store: await store() });
  throw error;
}

async function newestAfter(roots: readonly Uint8Array[], out: string): Promise<number> {
  const bytes = await rootIn(out, roots.length + 1);
  return bytes && follows(bytes, roots) ? newestAfter([...roots, bytes], out) : roots.length;
}

function rootIn(out: string, version: number): Promise<Uint8Array | undefined> {
  return readIfThere(join(out, METADATA_PATH, metadataFile('root', version)));
}

function follows(next: Uint8Array, roots: readonly Uint8Array[]): boolean {
  try {
    return verifyChain([...roots, next]).version > 0;
  } catch (error) {
    if (error instanceof PublicationError) return false;
    throw error;
  }
}

/** Sets all of whose documents were published under the keys that are here: nobody can have replaced those. */
function setsAsPublished(keys: RunKeys, index: PublisherIndex): Set<string> {
  const [good, other] = [new Set<string>(), new Set<string>()];
  for (const { name, id } of index.setKeysInUse()) (keys.idOf(name) === id ? good : other).add(name);
  return new Set([...good].filter((name) => !other.has(name)));
}

/** What the publisher has to be told. */
export function describeOlderKeys(older: OlderKeys, contents: KeyStoreContents): string[] {
  const { known, published, sets, otherPublisher } = older;
  if (known >= published && sets.size === 0) return [];
  const what =
    known < published
      ? `publisher.keys is older than the last publication, ${published}: ${known === 0 ? 'it knows of none' : `it knows of publication ${known}`}`
      : `publisher.keys may be older than the last publication, ${published}: nothing here shows that it has all keys of that`;
  const done =
    sets.size === 0
      ? 'its set keys are those of that publication, and stay'
      : `${someOf([...sets].sort())} ${sets.size === 1 ? 'has' : 'have'} a new key, because what is in it may have been replaced since`;
  const others = [
    ...(otherPublisher ? ['its publisher key is another than that of the last publication'] : []),
    ...(contents.sections.size > 0
      ? [`the keys of ${count(contents.sections.size, 'section')} are as they were in it`]
      : []),
  ];
  if (others.length === 0) return [`${what}. ${done}`];
  const again = 'change again with "wispr keys rotate" what was changed since ("wispr keys list" shows all keys)';
  return [`${what}. ${done}`, `${others.join(', and ')}: ${again}`];
}
