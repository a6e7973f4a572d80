/**
 * Checks one object as far as anybody can without a key: steps 1 to 9, 11 and 12 of protected-object.md, and 10 for
 * signed documents.
 */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { verifyBlocks } from '../../core/object/blocks.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { type Expectation, type Head, readHead } from '../../core/object/head.ts';
import { isEncrypted } from '../../core/object/header.ts';

/**
 * Verifies an object.
 *
 * @param object - the object, out of its carrier
 * @param content - gets a signed document's content; asked only after its head has passed
 * @returns which of the two kinds it is
 * @throws ObjectError naming the first check that failed; whatever `content` throws
 */
export async function verifyObject(
  object: AsyncIterable<Uint8Array>,
  expected: Expectation,
  content: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<'encrypted' | 'signed'> {
  const input = new ByteReader(object);
  try {
    const head = await readHead(input, expected);
    if (isEncrypted(head.header)) {
      await verifyBlocks(head, input);
      return 'encrypted';
    }
    if (!(await input.atEnd())) throw new ObjectError('object-trailing', 'bytes follow the head of a signed document');
    await verifyContent(head, new ByteReader(await content()));
    return 'signed';
  } finally {
    await input.cancel(); // frees the file or the connection
  }
}

async function verifyContent(head: Head, content: ByteReader): Promise<void> {
  try {
    await verifyBlocks(head, content);
  } finally {
    await content.cancel();
  }
}
