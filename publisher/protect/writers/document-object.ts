import type { Metadata } from '../../../core/object/metadata.ts';
import { ObjectWriter } from '../../../core/object/writer.ts';
import type { ContentOptions } from '../content.ts';
import type { WriteTask, WrittenDocument } from './contract.ts';
import type { ThreadData } from './jobs.ts';

/** How the content of a document is read. */
export function contentOptions({ source, mediaType, compress, set, headers }: WriteTask): ContentOptions {
  return { source, mediaType, compress: compress && set !== undefined, headers };
}

/** The writer of a document's object. @throws Error if there is no key for its set */
export function objectWriterOf(task: WriteTask, metadata: Metadata, thread: ThreadData): ObjectWriter {
  const { path, set, padding } = task;
  const key = set === undefined ? undefined : thread.sets.get(set);
  if (set !== undefined && key === undefined) throw new Error('the writers were not given the key of this set');
  return new ObjectWriter({
    site: thread.site,
    path,
    publisher: thread.publisher,
    metadata,
    ...(set !== undefined && key && { set: { id: set, key } }),
    ...(set !== undefined && padding && { paddingLength: 'padme' }),
  });
}

/** What is answered for a document, but for what differs from one to the other. */
export function written(
  path: string,
  head: { readonly digest: string; readonly length: number },
  rest: Partial<WrittenDocument> & Pick<WrittenDocument, 'bytesOut'>,
): WrittenDocument {
  return { path, head: head.digest, headLength: head.length, reused: false, staged: false, ...rest };
}
