import { expect, it } from 'vitest';
import { LIMITS } from '../../client-proxy/limits.ts';
import { RememberedDocuments } from '../../client-proxy/site/remembered-documents.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';

/** Makes an opened document, of which only the length of its head matters here. */
function readerWith(length: number): DocumentReader {
  const head = { headerBytes: new Uint8Array(length), signature: new Uint8Array(64), digests: new Uint8Array() };
  return { head } as DocumentReader;
}

it('attack 65: opened documents take bounded memory, and the least recently used are evicted', () => {
  const remembered = new RememberedDocuments();
  const length = LIMITS.rememberedBytes / 16;
  for (let number = 0; number < 20; number++) {
    remembered.set(`/${number}`, readerWith(length), 'hash');
    expect(remembered.get('/0')).toBeDefined();
  }
  const kept = Array.from({ length: 20 }, (_, number) => number).filter((number) => remembered.get(`/${number}`));
  expect(kept).toEqual([0, 14, 15, 16, 17, 18, 19]); // the head is there twice
});
