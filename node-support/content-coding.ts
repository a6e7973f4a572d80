import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import type { ContentCoding } from '../core/object/metadata.ts';

/** A stream that undoes a content coding. */
export function createDecoder(coding: ContentCoding): Transform {
  return coding === 'gzip' ? createGunzip() : createBrotliDecompress();
}
