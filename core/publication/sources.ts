/** Interfaces to the surroundings of a reader of publications: where metadata come from, and where they are kept. */
import { PublicationError } from './errors.ts';
import type { MetaFile, RootMetadata } from './metadata.ts';
import { metadataFile } from './names.ts';
import { tooLarge } from './verify-roles.ts';

/** Source of metadata. Nothing that it gives is believed; it has to bound time, and how many bytes it reads. */
export interface MetadataSource {
  /**
   * A metadata file.
   *
   * @param file - such as `7.snapshot.json`, percent-encoded
   * @param maximumLength - more need not be fetched
   * @param sha256 - hexadecimal, where it is known: so that other bytes from one place are no reason not to ask the next
   * @param isGood - the same for a file whose hash is not known. Where no place has a good one, a place that has none counts more than other bytes
   * @returns `undefined` if there is none
   */
  metadata(file: string, maximumLength: number, sha256?: string, isGood?: IsGood): Promise<Uint8Array | undefined>;
  /**
   * Asks the places where a timestamp may be had, in their order.
   *
   * @param isEnough - looked at before a further one is asked: whether what came is a fresh one
   */
  timestamps(maximumLength: number, isEnough: () => boolean): AsyncIterable<TimestampAnswer>;
}

export type IsGood = (bytes: Uint8Array) => Promise<boolean>;

/** Answer of one place that was asked for a timestamp: none, one, or what went wrong. */
export interface TimestampAnswer {
  readonly result?: Uint8Array | undefined;
  readonly error?: unknown;
}

/** Places for `timestamps` that are asked one after the other. */
export async function* inTurn(
  places: readonly (() => Promise<Uint8Array | undefined>)[],
  isEnough: () => boolean,
): AsyncGenerator<TimestampAnswer, undefined> {
  for (const ask of places) {
    if (isEnough()) return;
    yield await ask().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
  }
}

/**
 * Store of what a client trusts, by the names of roles and a few of its own that contain `wispr:`. Names are any text: a store of files
 * has to encode them. A write replaces what was there as a whole or not at all; an empty file is as good as none.
 */
export interface MetadataStore {
  read(name: string): Promise<Uint8Array | undefined>;
  write(name: string, bytes: Uint8Array): Promise<void>;
}

/** A file of a source, no longer than it may be (P1). @throws PublicationError `metadata-too-large` */
export async function fetchBounded(
  source: MetadataSource,
  file: string,
  maximum: number,
  sha256?: string,
  isGood?: IsGood,
): Promise<Uint8Array | undefined> {
  const bytes = await source.metadata(file, maximum, sha256, isGood);
  if (bytes && bytes.length > maximum) throw tooLarge(file, maximum);
  return bytes;
}

/**
 * A file that the metadata above it name. A length there that is beyond the bound is not asked for (P1).
 *
 * @throws PublicationError `metadata-too-large`, `metadata-missing`
 */
export async function fetchNamed(
  source: MetadataSource,
  root: RootMetadata,
  role: string,
  { version, length, sha256 }: MetaFile,
  maximum: number,
): Promise<Uint8Array> {
  const file = metadataFile(role, root.consistentSnapshot ? version : undefined);
  if (length !== undefined && length > maximum) throw tooLarge(file, maximum);
  const bytes = await fetchBounded(source, file, length ?? maximum, sha256);
  if (bytes === undefined) throw missing(file);
  return bytes;
}

export function missing(file: string): PublicationError {
  return new PublicationError('metadata-missing', `the content hosts have no ${file}`);
}
