/** Takes the vectors of paths.json and canonical-json.json through core; runs on Node and in a browser. */
import { canonicalJson, parseCanonicalJson } from '../../../core/encoding/canonical-json.ts';
import { documentPathOf, isDocumentPath, urlPathOf } from '../../../core/site/path.ts';
import { isSite } from '../../../core/site/site.ts';
import { type CanonicalJsonVectorFile, fromBase64, type PathVectorFile, toBase64 } from '../format.ts';

/** Returns the outcomes of the vectors, in the form of the file. */
export function runPathVectors(file: PathVectorFile): PathVectorFile {
  return {
    documentPathOf: file.documentPathOf.map(({ url }) => ({ url, path: documentPathOf(url) ?? null })),
    urlPathOf: file.urlPathOf.map(({ path }) => ({ path, url: urlPathOf(path) })),
    isDocumentPath: file.isDocumentPath.map(({ path }) => ({ path, valid: isDocumentPath(path) })),
    isSite: file.isSite.map(({ site }) => ({ site, valid: isSite(site) })),
  };
}

/** Returns the outcomes of the vectors, in the form of the file. */
export function runCanonicalJsonVectors({ vectors }: CanonicalJsonVectorFile): CanonicalJsonVectorFile {
  return {
    vectors: vectors.map(({ name, bytes }) => {
      const value = parseCanonicalJson(fromBase64(bytes));
      return { name, bytes, canonical: value !== undefined && toBase64(canonicalJson(value)) === bytes };
    }),
  };
}
