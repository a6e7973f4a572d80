/** Takes the vectors of protected-object.json through core; runs on Node and in a browser. */
import { sha256 } from '#primitives';
import { concat } from '../../../core/encoding/bytes.ts';
import { toHex } from '../../../core/encoding/hex.ts';
import { openCarrier } from '../../../core/object/carrier.ts';
import type { SetKey } from '../../../core/object/document-reader.ts';
import { ObjectError } from '../../../core/object/errors.ts';
import { openDocument } from '../../../core/object/open-document.ts';
import { fromBase64, type ObjectVector, type ObjectVectorFile, unpack } from '../format.ts';

/** Outcome of a vector, in the form in which the vector states it. */
export type ObjectOutcome = Pick<ObjectVector, 'outcome' | 'released' | 'metadata'>;

/** Reads the vector's object as a reader would, from bytes in pieces. Anything but an ObjectError is passed on: it is a bug. */
export async function runObjectVector(
  { reader: defaults }: Pick<ObjectVectorFile, 'reader'>,
  vector: ObjectVector,
  pieceLength: number,
): Promise<ObjectOutcome> {
  const reader = { ...defaults, path: '/', ...vector.reader };
  const keys = new Map<string, SetKey>(
    reader.keys.map((entry) => [entry.id, { ...entry, key: fromBase64(entry.key) }]),
  );
  const released: Uint8Array[] = [];
  try {
    const opened = await openDocument(
      openCarrier(inPieces(unpack(vector.object), pieceLength)),
      { site: reader.site, path: reader.path, publisherKey: fromBase64(reader.publisherKey) },
      { findKey: async (id) => keys.get(id), now: reader.now },
      async () => inPieces(unpack(vector.content ?? []), pieceLength),
    );
    for await (const piece of opened.content) released.push(Uint8Array.from(piece));
    const metadata = JSON.parse(JSON.stringify(opened.metadata));
    return { outcome: 'success', metadata, released: await describeBytes(concat(...released)) };
  } catch (error) {
    if (!(error instanceof ObjectError)) throw error;
    return { outcome: error.code, released: await describeBytes(concat(...released)) };
  }
}

/** The part of a vector that {@link runObjectVector} must return. */
export function expectedOutcome({ outcome, metadata, released }: ObjectVector): ObjectOutcome {
  return { outcome, released, ...(metadata && { metadata }) };
}

export async function describeBytes(bytes: Uint8Array): Promise<ObjectVector['released']> {
  return { length: bytes.length, sha256: toHex(await sha256(bytes)) };
}

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += length) yield bytes.subarray(offset, offset + length);
}
