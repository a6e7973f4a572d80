/** The samples at the start of the specifications. */

import { openChunks } from '#primitives';
import { messageKeysFor } from '../../../core/crypto/chunked-encryption.ts';
import { utf8 } from '../../../core/encoding/bytes.ts';
import type { JsonObject } from '../../../core/encoding/canonical-json.ts';
import { payloadContext } from '../../../core/object/message.ts';
import { encodeObject, type ObjectOptions } from '../../../core/object/writer.ts';
import { PREFIX_LENGTH } from '../../../core/primitives/contract.ts';
import { fromBase64, type KeyVector, type ObjectVector, toHex } from '../format.ts';
import { encryptedOptions, publisher, setKey } from './fixed.ts';
import { splitObject } from './forge.ts';
import { accepted } from './vector.ts';

const CONTENT = utf8('Nothing happened today.\n');
const PATH = '/2026/11/20/today.txt';

async function sampleOptions(): Promise<ObjectOptions> {
  return encryptedOptions('the sample', CONTENT.length, {
    path: PATH,
    metadata: { contentLength: CONTENT.length, mediaType: 'text/plain' },
  });
}

/** The sample as a vector. */
export async function sampleVector(): Promise<ObjectVector> {
  const options = await sampleOptions();
  const object = await encodeObject(options, CONTENT);
  return accepted('the sample in the specification', object, options.metadata, CONTENT, { reader: { path: PATH } });
}

/** For protected-object.md: a small object, part by part. */
export async function objectSample(): Promise<string> {
  const options = await sampleOptions();
  const object = await encodeObject(options, CONTENT);
  const parts = splitObject(object);
  const header = new TextDecoder().decode(parts.header);
  const chunks = parts.payload.subarray(PREFIX_LENGTH);
  const lines = [
    ...field('magic', parts.magic, '"wispr/1\\n"'),
    ...field('header length', parts.headerLength, String(parts.header.length)),
    ...text('header', header.split(/(?<=,)/)),
    ...field('signature', parts.signature),
    ...field('block digest', parts.digests),
    ...field('salt', parts.payload.subarray(0, 24)),
    ...field('commitment', parts.payload.subarray(24, PREFIX_LENGTH)),
    ...field('chunk 0', chunks.subarray(0, -16)),
    ...field('its tag', chunks.subarray(-16)),
  ];
  return [
    `The ${CONTENT.length} bytes \`Nothing happened today.\\n\`, as the document \`${PATH}\` of the site`,
    `\`news.example\`, in a protected object of ${object.length} bytes. Hexadecimal but for the header, whose lines are`,
    'one line in the object:',
    '',
    '```',
    ...lines,
    '```',
    '',
    'The publisher signed it with the key whose public half is the first line, and encrypted it under the',
    'set key of the second. With them a reader gets the message, in which the content stands behind its',
    'metadata:',
    '',
    '```',
    ...field('public key', publisher.publicKey),
    ...field('set key', setKey.key),
    ...(await messageLines(options, parts.payload)),
    '```',
  ].join('\n');
}

async function messageLines(options: ObjectOptions, payload: Uint8Array): Promise<string[]> {
  const context = payloadContext({ ...options, set: setKey.id });
  const keys = await messageKeysFor(setKey.key, payload.subarray(0, PREFIX_LENGTH), context);
  const message = keys && (await openChunks(keys, 0, payload.subarray(PREFIX_LENGTH), true));
  if (message === undefined) throw new Error('the sample does not open');
  const metadataEnd = message.length - CONTENT.length;
  return [
    ...field('metadata length', message.subarray(0, 4), String(metadataEnd - 4)),
    ...text('metadata', [new TextDecoder().decode(message.subarray(4, metadataEnd))]),
    ...text('content', [JSON.stringify(new TextDecoder().decode(message.subarray(metadataEnd))).slice(1, -1)]),
  ];
}

/** For keys.md: what a device and a key server say to each other, out of the vectors. */
export function keySample(vectors: readonly KeyVector[]): string {
  const input = (name: string, member: string) => {
    const value = vectors.find((vector) => vector.name === name)?.input[member];
    if (typeof value !== 'string') throw new Error(`no vector ${name}`);
    return value;
  };
  const json = (base64: string) => shortened(JSON.parse(new TextDecoder().decode(fromBase64(base64))) as JsonObject);
  return [
    'A binding request, its answer, a key request, and a wrapped key as it stands in the answer to that.',
    'Each is one line; long values are cut here:',
    '',
    '```json',
    json(input('binding request, good', 'request')),
    json(input('binding answer, good', 'answer')),
    json(input('key request, good', 'request')),
    shortened(JSON.parse(input('wrapped key, set key under a device key', 'wrapped')) as JsonObject),
    '```',
  ].join('\n');
}

function shortened(value: JsonObject): string {
  return JSON.stringify(value, (_, member) =>
    typeof member === 'string' && member.length > 24 ? `${member.slice(0, 12)}…` : member,
  );
}

/** A name and bytes, 32 to a line. */
function field(name: string, bytes: Uint8Array, meaning = ''): string[] {
  const lines = toHex(bytes).match(/.{1,64}/g) ?? [];
  if (meaning) lines[0] = `${lines[0]}  = ${meaning}`;
  return text(name, lines);
}

function text(name: string, lines: string[]): string[] {
  return lines.map((line, index) => `${(index === 0 ? name : '').padEnd(16)} ${line}`);
}
