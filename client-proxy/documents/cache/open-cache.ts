import { cacheDirectoryFor } from '../../store/locations.ts';
import { ObjectCache } from './object-cache.ts';

export interface CacheLocation {
  readonly dataDirectory?: string;
  readonly cacheDirectory?: string;
  readonly cacheBytes: number;
}

/** The cache of this reader, in its usual place unless the options name one. */
export function openCache({ dataDirectory, cacheDirectory, cacheBytes }: CacheLocation): ObjectCache {
  return new ObjectCache({ directory: cacheDirectory ?? cacheDirectoryFor(dataDirectory), bytes: cacheBytes });
}
