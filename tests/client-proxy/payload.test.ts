/** The memory of opened runs, between whoever opens them and the client. */
import { expect, it } from 'vitest';
import type { StoredObject } from '../../client-proxy/cache/stored-object.ts';
import { Payload, type Supply } from '../../client-proxy/documents/payload.ts';
import { ByteReader, streamOf } from '../../core/encoding/byte-reader.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';

it('is used again once what lies in it has left, and not before', () => {
  const reader = { payloadLength: 0 } as DocumentReader;
  const bytes = new ByteReader(streamOf(new Uint8Array(0)));
  const payload = new Payload({} as Supply, reader, bytes, {} as StoredObject);
  const [spent, kept] = [new ArrayBuffer(8), new ArrayBuffer(8)];
  for (const memory of [spent, kept]) payload.handOut(memory);
  payload.spend(new Uint8Array(spent, 2, 4));
  expect([payload.takeBack(spent), payload.takeBack(kept), spent.byteLength]).toEqual([true, false, 8]);
});
