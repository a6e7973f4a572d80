/**
 * Checks one object as far as anybody can without a key: P10 of publication.md, steps 1 to 9, 11 and 12 of protected-object.md, and 10 for
 * signed documents.
 */
import { createHash } from 'node:crypto';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { verifyBlocks } from '../../core/object/blocks.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { type Head, headDigest } from '../../core/object/head.ts';
import { isEncrypted } from '../../core/object/header.ts';
import { type Expectation, readHead } from '../../core/object/read-head.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { PublicationError } from '../../core/publication/errors.ts';

/**
 * Verifies an object. A signed document's content is not in it: see {@link verifyContent}.
 *
 * @param object - the object, out of its carrier
 * @throws ObjectError naming the first check that failed; PublicationError `head-unexpected`
 */
export async function verifyObject(
  object: AsyncIterable<Uint8Array>,
  expected: Expectation,
  entry: DocumentEntry,
): Promise<Head> {
  const input = new ByteReader(object);
  try {
    const head = await readHead(input, expected);
    await checkHead(head, entry);
    if (isEncrypted(head.header)) await verifyBlocks(head, input);
    else if (!(await input.atEnd()))
      throw new ObjectError('object-trailing', 'bytes follow the head of a signed document');
    return head;
  } finally {
    await input.cancel(); // frees the file or the connection
  }
}

/** P10, and that the publication says the same of the document as its head does. */
async function checkHead(head: Head, { head: hash, headLength, set }: DocumentEntry): Promise<void> {
  const sameSet = isEncrypted(head.header) ? head.header.set === set : set === undefined;
  if (head.length === headLength && sameSet && toHex(await headDigest(head)) === hash) return;
  throw new PublicationError('head-unexpected', 'this is not the head that the publication names');
}

/**
 * Verifies a signed document's content against its head.
 *
 * @returns its SHA-256, hexadecimal
 * @throws ObjectError
 */
export async function verifyContent(head: Head, content: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  const input = new ByteReader(hashed(content, digest));
  try {
    await verifyBlocks(head, input);
  } finally {
    await input.cancel();
  }
  return digest.digest('hex');
}

async function* hashed(
  stream: AsyncIterable<Uint8Array>,
  digest: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of stream) {
    digest.update(piece);
    yield piece;
  }
}

/** SHA-256 of a stream, hexadecimal. */
export async function sha256Of(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  for await (const piece of stream) digest.update(piece);
  return digest.digest('hex');
}
