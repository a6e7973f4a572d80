/** A whole object, from its first byte: head, key and blocks. */
import { ByteReader } from '../encoding/byte-reader.ts';
import { DocumentReader, type OpenedDocument, type ReadingContext } from './document-reader.ts';
import { ObjectError } from './errors.ts';
import { isEncrypted } from './header.ts';
import { type Expectation, readHead } from './read-head.ts';

/**
 * Reads and verifies an object from its first byte: all steps.
 *
 * @param object - the object as it came; a signed document's head
 * @param fetchContent - gets a signed document's content, from the document's own URL; asked only after its head has passed
 * @throws ObjectError naming the first check that failed
 */
export async function openDocument(
  object: AsyncIterable<Uint8Array>,
  expected: Expectation,
  context: ReadingContext,
  fetchContent: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<OpenedDocument> {
  const input = new ByteReader(object);
  const known = await reuseCached(input, expected, context);
  const reader = known
    ? await known.confirm(context)
    : await DocumentReader.create(await readHead(input, expected), context);
  const { supply = (_reader: DocumentReader, payload: ByteReader) => payload } = context;
  if (isEncrypted(reader.head.header)) return reader.open(supply(reader, input));
  // Step 10, for signed documents.
  if (!(await input.atEnd())) throw new ObjectError('object-trailing', 'bytes follow the head of a signed document');
  return reader.open(supply(reader, new ByteReader(await fetchContent())));
}

/** The reader of a document that was opened before, if these are the bytes of its head; a publication may demand others. */
async function reuseCached(
  input: ByteReader,
  { pin }: Expectation,
  { known }: ReadingContext,
): Promise<DocumentReader | undefined> {
  if (known === undefined || (pin && pin.sha256 !== known.headHash)) return undefined;
  return (await input.consumeIfEqual(known.headBytes)) ? known.reader : undefined;
}
