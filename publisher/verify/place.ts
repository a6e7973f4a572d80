/** Where a site lies that is verified: a directory, or a web host. */
import { PublicationError } from '../../core/publication/errors.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { printable } from '../../node-support/printable.ts';
import { PublishError } from '../errors.ts';
import type { PublicationPlace } from '../publication/open.ts';

export interface VerifiedPlace extends PublicationPlace {
  /**
   * A file, as a stream.
   *
   * @returns `undefined` if there is none
   * @throws Unreadable, also out of the stream
   */
  open(path: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** How many files are looked at at a time. */
  readonly inFlight: number;
}

/** A file that is there, or may be, cannot be read. */
export class Unreadable extends Error {}

/**
 * The first bytes of a file of a place, for {@link PublicationPlace.read}.
 *
 * @throws PublicationError for metadata that cannot be read; PublishError `tree-unreadable` for what everything else depends on
 */
export async function readStart(place: VerifiedPlace, path: string, maximum: number): Promise<Uint8Array | undefined> {
  try {
    const stream = await place.open(path);
    return stream && (await startOf(stream, maximum + 1)); // one byte more shows that it is longer
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const message = `${printable(path)}: ${error.message}`;
    if (path.startsWith(METADATA_PATH)) throw new PublicationError('metadata-missing', message, { cause: error });
    throw new PublishError('tree-unreadable', message, { cause: error });
  }
}

/** The first bytes of a stream, which is then let go. */
export async function startOf(stream: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of stream) {
    parts.push(part);
    total += part.length;
    if (total >= length) break;
  }
  return Buffer.concat(parts).subarray(0, length);
}
