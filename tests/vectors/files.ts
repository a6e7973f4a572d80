/** The files of vectors, with their types. */
import canonicalJson from './canonical-json.json' with { type: 'json' };
import type { CanonicalJsonVectorFile, KeyVectorFile, ObjectVectorFile, PathVectorFile } from './format.ts';
import httpcrypt from './httpcrypt.json' with { type: 'json' };
import keys from './keys.json' with { type: 'json' };
import link from './link.json' with { type: 'json' };
import paths from './paths.json' with { type: 'json' };
import objects from './protected-object.json' with { type: 'json' };

export const CANONICAL_JSON = canonicalJson as CanonicalJsonVectorFile;
export const HTTPCRYPT = httpcrypt as unknown as KeyVectorFile;
export const KEYS = keys as unknown as KeyVectorFile;
export const LINK = link as unknown as KeyVectorFile;
export const OBJECTS = objects as unknown as ObjectVectorFile;
export const PATHS = paths as PathVectorFile;
