import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { toHex } from '../../core/encoding/hex.ts';
import { HTTPCRYPT, KEYS, LINK, OBJECTS } from '../vectors/files.ts';
import { fromBase64, type KeyVectorFile, unpack } from '../vectors/format.ts';

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
  const input = inputsOf(KEYS);
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

it('the sample in httpcrypt.md is made of the vectors, with the body cut', () => {
  const input = inputsOf(HTTPCRYPT);
  const body = fromBase64(input('request, good', 'body'));
  const lines = [
    ...(input('read-text, good', 'text').match(/.{1,90}/g) ?? []),
    ...['addresses, good', 'addresses, of IPv4'].map((name) => input(name, 'addresses').split(' ')[0]),
    `Content-Length: ${body.length}`,
    `Cookie: ${input('request, good', 'cookie')}`,
    `${toHex(body.subarray(0, 40))}…`,
  ];
  const sample = sampleIn('docs/spec/httpcrypt.md').split('\n');
  expect(sample.filter((line) => lines.includes(line))).toEqual(lines);
});

it('the sample in link.md is made of the vectors, with long values cut', () => {
  const input = inputsOf(LINK);
  const [list, plain, short] = [
    input('unlist, three certificates', 'records'),
    input('substitute, three certificates', 'records'),
    input('restore, three references', 'records'),
  ].map(fromBase64);
  const hex = [list, plain, short].map((records) => toHex(records ?? new Uint8Array(0))).join(' ');
  const sample = sampleIn('docs/spec/link.md');
  const values = sample.match(/\b[0-9a-f]{8,}/g) ?? [];
  expect(values.filter((value) => hex.includes(value))).toEqual(values);
  expect(values.length).toBe(18);
  const lengths = [plain, short].map((records) => `${records?.length} bytes`);
  expect(sample.match(/\d+ bytes$/gm)).toEqual(lengths);
});

it('the vectors stay small enough to be read', () => {
  const files = ['protected-object', 'keys', 'httpcrypt', 'link', 'paths', 'canonical-json'];
  const sizes = files.map((name) => readFileSync(`tests/vectors/${name}.json`).length);
  expect(sizes.reduce((total, size) => total + size, 0)).toBeLessThan(2_000_000);
});

/** Finds members of vectors by the vectors' names. */
function inputsOf({ vectors }: KeyVectorFile): (name: string, member: string) => string {
  return (name, member) => String(vectors.find((each) => each.name === name)?.input[member]);
}

function sampleIn(path: string): string {
  return readFileSync(path, 'utf8').match(/<!-- sample:begin.*?<!-- sample:end -->/s)?.[0] ?? '';
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
