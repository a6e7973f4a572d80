import { LIMITS } from '../limits.ts';
import { cacheDirectoryFor } from '../store/locations.ts';
import { ObjectCache } from './object-cache.ts';

export interface CacheLocation {
  readonly dataDirectory?: string;
  readonly cacheDirectory?: string;
  readonly cacheBytes?: number;
}

/** The cache of this reader: where and as large as the options say, or as usual. */
export function openCache({
  dataDirectory,
  cacheDirectory,
  cacheBytes = LIMITS.cacheBytes,
}: CacheLocation): ObjectCache {
  return new ObjectCache({ directory: cacheDirectory ?? cacheDirectoryFor(dataDirectory), bytes: cacheBytes });
}
