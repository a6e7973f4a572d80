/** Writes every file of a directory as a document, and prints what went wrong with each: `node write-documents.ts SITE OUT`. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { publisherIdentity } from '../../core/object/writer.ts';
import { DocumentWriters } from '../../publisher/protect/writers/writers.ts';
import { mediaTypeOf } from '../../publisher/site/media-type.ts';
import { sourceAt } from './document-writers.ts';

const [site = '', out = ''] = process.argv.slice(2);
const key = randomBytes(32);
const set = await keyIdOf('set', key);
const writers = new DocumentWriters({
  out,
  site: 'news.example',
  publisher: await publisherIdentity(ed25519KeyPair(randomBytes(32))),
  sets: new Map([[set, key]]),
});
const names = readdirSync(site).sort().reverse();
const calls = names.map((name) => {
  const path = `/${name}`;
  const source = sourceAt(path, join(site, name));
  const mediaType = mediaTypeOf(path);
  return writers.write({ path, source, mediaType, compress: true, set, padding: false, carrier: 'beside' });
});
const results = await Promise.allSettled(calls);
const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
console.log(JSON.stringify(failures.map(({ code, hint, message }) => ({ code, hint, message }))));
await writers.close();
