/**
 * `npm run vectors`: writes the vectors in this folder, and the samples in docs/spec/. Everything is fixed, so a second run
 * changes nothing; tests/core/vectors-are-current.test.ts holds it to that.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { httpcryptSample, makeHttpcryptVectors } from './make/httpcrypt.ts';
import { makeCanonicalJsonVectors } from './make/json.ts';
import { makeKeyVectors } from './make/keys.ts';
import { makeObjectVectors } from './make/objects.ts';
import { makePathVectors } from './make/paths.ts';
import { keySample, objectSample } from './make/sample.ts';

/** What each generated file must hold, by its path from the project's root. */
export async function makeFiles(): Promise<Map<string, string>> {
  const keys = await makeKeyVectors();
  const httpcrypt = await makeHttpcryptVectors();
  return new Map([
    ['tests/vectors/protected-object.json', formatted(await makeObjectVectors())],
    ['tests/vectors/keys.json', formatted(keys)],
    ['tests/vectors/httpcrypt.json', formatted(httpcrypt)],
    ['tests/vectors/paths.json', formatted(makePathVectors())],
    ['tests/vectors/canonical-json.json', formatted(makeCanonicalJsonVectors())],
    withSample('docs/spec/protected-object.md', await objectSample()),
    withSample('docs/spec/keys.md', keySample(keys.vectors)),
    withSample('docs/spec/httpcrypt.md', httpcryptSample(httpcrypt)),
  ]);
}

/** Where a path from the project's root lies. */
export function locate(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

/** JSON with one entry of each list to a line, so that a change shows which vectors it touched. */
function formatted(file: object): string {
  const members = Object.entries(file).map(([name, value]) => {
    const lines = Array.isArray(value) ? value.map((entry) => `\n  ${JSON.stringify(entry)}`) : undefined;
    return ` ${JSON.stringify(name)}: ${lines ? `[${lines.join(',')}\n ]` : JSON.stringify(value)}`;
  });
  return `{\n${members.join(',\n')}\n}\n`;
}

function withSample(path: string, sample: string): [string, string] {
  const document = readFileSync(locate(path), 'utf8');
  const [, before, after] = document.match(/^(.*?<!-- sample:begin[^\n]*-->\n).*?(<!-- sample:end -->.*)$/s) ?? [];
  if (before === undefined || after === undefined) throw new Error(`${path} has no place for a sample`);
  return [path, `${before}\n${sample}\n\n${after}`];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of await makeFiles()) writeFileSync(locate(path), text);
}
