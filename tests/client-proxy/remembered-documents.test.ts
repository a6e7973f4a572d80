import { expect, it } from 'vitest';
import { RememberedDocuments } from '../../client-proxy/documents/remembered-documents.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';
import { afterwards } from '../support/afterwards.ts';

/** Of an opened document, only how long its head is matters here. */
function readerWith(length: number): DocumentReader {
  const head = { headerBytes: new Uint8Array(length), signature: new Uint8Array(64), digests: new Uint8Array() };
  return { head } as DocumentReader;
}

it('opened documents are remembered for a while, and until they are forgotten', async () => {
  const remembered = new RememberedDocuments();
  const reader = readerWith(100);
  remembered.set('/a', reader, 'hash');
  expect(remembered.get('/a')).toMatchObject({ reader, headHash: 'hash' });
  await afterwards(LIMITS.rememberedFor - 1_000, () => expect(remembered.get('/a')).toBeDefined());
  await afterwards(LIMITS.rememberedFor, () => expect(remembered.get('/a')).toBeUndefined());
  remembered.set('/a', reader, 'hash');
  remembered.forget('/a');
  expect(remembered.get('/a')).toBeUndefined();
});

it('attack 65: opened documents take so much memory and no more, the one that was used last goes last', () => {
  const remembered = new RememberedDocuments();
  const length = LIMITS.rememberedBytes / 16;
  for (let number = 0; number < 20; number++) {
    remembered.set(`/${number}`, readerWith(length), 'hash');
    expect(remembered.get('/0')).toBeDefined();
  }
  const kept = Array.from({ length: 20 }, (_, number) => number).filter((number) => remembered.get(`/${number}`));
  expect(kept).toEqual([0, 14, 15, 16, 17, 18, 19]); // the head is there twice
});
