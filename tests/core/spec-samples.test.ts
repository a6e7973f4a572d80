import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { toHex } from '../../core/encoding/hex.ts';
import { KEYS, OBJECTS } from '../vectors/files.ts';
import { fromBase64, unpack } from '../vectors/format.ts';
import { locate, makeFiles } from '../vectors/generate.ts';

const generated = await makeFiles();

it.each([...generated.keys()])('`npm run vectors` would change nothing in %s', (path) => {
  // Compared as a boolean: the difference of two files of half a megabyte is of no use.
  expect(readFileSync(locate(path), 'utf8') === generated.get(path)).toBe(true);
});

it('the sample in protected-object.md is the vector of that name, part by part', () => {
  const { reader, vectors } = OBJECTS;
  const sample = vectors.find(({ name }) => name === 'the sample in the specification');
  const [fields, found] = [sampleFields(), sample?.object ?? []];
  const hex = (...names: string[]) => names.map((name) => fields.get(name)).join('');
  const header = toHex(Buffer.from(fields.get('header') ?? ''));
  const parts = hex('signature', 'block digest', 'salt', 'commitment', 'chunk 0', 'its tag');
  expect(hex('magic', 'header length') + header + parts).toBe(toHex(unpack(found)));
  expect(hex('public key', 'set key')).toBe(
    [reader.publisherKey, reader.keys[0]?.key ?? ''].map((key) => toHex(fromBase64(key))).join(''),
  );
  const metadata = JSON.stringify(sample?.metadata);
  expect(fields.get('metadata')).toBe(metadata);
  expect(Number.parseInt(hex('metadata length'), 16)).toBe(metadata.length);
});

it('the sample in keys.md has the messages of the vectors, with long values cut', () => {
  const { vectors } = KEYS;
  const input = (name: string, member: string) => String(vectors.find((each) => each.name === name)?.input[member]);
  const decoded = (base64: string) => new TextDecoder().decode(fromBase64(base64));
  const messages = [
    decoded(input('binding request, good', 'request')),
    decoded(input('binding answer, good', 'answer')),
    decoded(input('key request, good', 'request')),
    input('wrapped key, set key under a device key', 'wrapped'),
  ];
  const cut = messages.map((json) => json.replace(/"([^"]{12})[^"]{13,}"/g, '"$1…"'));
  expect(sampleIn('docs/spec/keys.md')).toContain(cut.join('\n'));
});

it('the vectors stay small enough to be read', () => {
  const files = ['protected-object', 'keys', 'httpcrypt', 'link', 'paths', 'canonical-json'];
  const sizes = files.map((name) => readFileSync(locate(`tests/vectors/${name}.json`)).length);
  expect(sizes.reduce((total, size) => total + size, 0)).toBeLessThan(2_000_000);
});

function sampleIn(path: string): string {
  return readFileSync(locate(path), 'utf8').match(/<!-- sample:begin.*?<!-- sample:end -->/s)?.[0] ?? '';
}

/** Returns what stands behind each name in the sample, lines joined and explanations left out. */
function sampleFields(): Map<string, string> {
  const fields = new Map<string, string>();
  let name = '';
  for (const line of sampleIn('docs/spec/protected-object.md').split('\n')) {
    const [, label = '', value = ''] = line.match(/^(.{16}) (.+?)(?: {2}= .*)?$/) ?? [];
    name = label.trim() || name;
    fields.set(name, (fields.get(name) ?? '') + value);
  }
  return fields;
}
