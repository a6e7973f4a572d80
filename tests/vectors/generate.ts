/**
 * `npm run vectors`: writes httpcrypt.json, and the sample in its specification. Everything is fixed, so a second run changes
 * nothing; tests/core/spec-samples.test.ts holds it to that.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { httpcryptSample, makeHttpcryptVectors } from './httpcrypt.ts';

/** What each generated file must hold, by its path from the project's root. */
export async function makeFiles(): Promise<Map<string, string>> {
  const file = await makeHttpcryptVectors();
  const [before, after] = readFileSync(locate('docs/spec/httpcrypt.md'), 'utf8').split(
    /(?<=<!-- sample:begin.*-->\n).*(?=<!-- sample:end -->)/s,
  );
  return new Map([
    ['tests/vectors/httpcrypt.json', formatted(file)],
    ['docs/spec/httpcrypt.md', `${before}\n${httpcryptSample(file)}\n\n${after}`],
  ]);
}

/** Where a path from the project's root lies. */
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
