/**
 * `npm run vectors`: writes httpcrypt.json and link.json, and the samples in their specifications. Everything is fixed, so a second run changes
 * nothing; tests/core/spec-samples.test.ts holds it to that.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { httpcryptSample, makeHttpcryptVectors } from './httpcrypt.ts';
import { linkSample, makeLinkVectors } from './link.ts';

/** Returns the content of each generated file, by its path from the project's root. */
export async function makeFiles(): Promise<Map<string, string>> {
  const httpcrypt = await makeHttpcryptVectors();
  return new Map([
    ['tests/vectors/httpcrypt.json', formatted(httpcrypt)],
    ['docs/spec/httpcrypt.md', withSample('docs/spec/httpcrypt.md', httpcryptSample(httpcrypt))],
    ['tests/vectors/link.json', formatted(makeLinkVectors())],
    ['docs/spec/link.md', withSample('docs/spec/link.md', linkSample())],
  ]);
}

/** A specification with the sample in its place. */
function withSample(path: string, sample: string): string {
  const [before, after] = readFileSync(locate(path), 'utf8').split(
    /(?<=<!-- sample:begin.*-->\n).*(?=<!-- sample:end -->)/s,
  );
  return `${before}\n${sample}\n\n${after}`;
}

/** Makes a path from the project's root absolute. */
export function locate(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

/** JSON with one vector to a line, so that a change shows which vectors it touched. */
function formatted({ vectors }: { vectors: readonly object[] }): string {
  return `{\n "vectors": [${vectors.map((vector) => `\n  ${JSON.stringify(vector)}`).join(',')}\n ]\n}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of await makeFiles()) writeFileSync(locate(path), text);
}
