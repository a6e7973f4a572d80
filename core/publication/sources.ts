/** What a reader of publications asks of its surroundings: where metadata come from, and where they are kept. */
import { PublicationError } from './errors.ts';
import type { MetaFile, RootMetadata } from './metadata.ts';
import { metadataFile } from './names.ts';
import { tooLarge } from './verify-roles.ts';

/** Where metadata come from. Nothing is believed of what it gives; it has to bound time, and how many bytes it reads. */
export interface MetadataSource {
  /**
   * A metadata file.
   *
   * @param file - such as `7.snapshot.json`, percent-encoded
   * @param maximumLength - more need not be fetched
   * @returns `undefined` if there is none
   */
  metadata(file: string, maximumLength: number): Promise<Uint8Array | undefined>;
  /** The places where a timestamp may be had, to be asked in this order until one has a fresh one. */
  timestamps(maximumLength: number): readonly (() => Promise<Uint8Array | undefined>)[];
}

/**
 * Where a client keeps what it trusts, by the names of roles and a few of its own that contain `wispr:`. Names are any text: a store of files
 * has to encode them. A write replaces what was there as a whole or not at all; an empty file is as good as none.
 */
export interface MetadataStore {
  read(name: string): Promise<Uint8Array | undefined>;
  write(name: string, bytes: Uint8Array): Promise<void>;
}

/**
 * A file of a source, no longer than it may be (P1).
 *
 * @throws PublicationError `metadata-too-large`
 */
export async function fetchBounded(
  source: MetadataSource,
  file: string,
  maximum: number,
): Promise<Uint8Array | undefined> {
  const bytes = await source.metadata(file, maximum);
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
  { version, length }: MetaFile,
  maximum: number,
): Promise<Uint8Array> {
  const file = metadataFile(role, root.consistentSnapshot ? version : undefined);
  if (length !== undefined && length > maximum) throw tooLarge(file, maximum);
  const bytes = await fetchBounded(source, file, length ?? maximum);
  if (bytes === undefined) throw missing(file);
  return bytes;
}

/** A file that has to be there is not. */
export function missing(file: string): PublicationError {
  return new PublicationError('metadata-missing', `the content hosts have no ${file}`);
}
