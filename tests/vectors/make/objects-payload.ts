/** Objects whose head is right and whose payload is not: steps 11 to 15. */

import { aes256GcmSeal, CHUNK_LENGTH, chunkNonce, SEALED_CHUNK_LENGTH, sha256 } from '#primitives';
import { beginMessage } from '../../../core/crypto/chunked-encryption.ts';
import { concat, utf8 } from '../../../core/encoding/bytes.ts';
import { encodeMessageFront, payloadContext } from '../../../core/object/message.ts';
import { encodeObject } from '../../../core/object/writer.ts';
import { PREFIX_LENGTH } from '../../../core/primitives/contract.ts';
import type { ObjectVector } from '../format.ts';
import { encryptedOptions, markedContent, SITE, saltOf, setKey, sparseObject } from './fixed.ts';
import { flipBit, joinObject, type Parts, splitObject, withHeader, withPayload } from './forge.ts';
import { badMetadata } from './objects-metadata.ts';
import { refused, signedOptions, smallHead, smallObject, smallParts, TEXT } from './vector.ts';

const BLOCK = SEALED_CHUNK_LENGTH;

export async function refusedPayloads(): Promise<ObjectVector[]> {
  return [
    ...(await damagedBlocks()),
    ...(await cutAndContinued()),
    ...(await movedBlocks()),
    ...(await signedButWrong()),
    ...(await byASubscriber()),
    ...(await badMetadata()),
    ...(await signedDocuments()),
  ];
}

/** An object of four blocks, each one chunk, and what each block releases. */
async function fourBlocks(name: string): Promise<{ parts: Parts; upTo: (blocks: number) => Uint8Array }> {
  const options = await encryptedOptions(name, 3 * CHUNK_LENGTH + 1000, { blockChunks: 1 });
  const { object, content } = await sparseObject(options);
  const front = encodeMessageFront(options.metadata).length;
  return { parts: splitObject(object), upTo: (blocks) => content.subarray(0, blocks * CHUNK_LENGTH - front) };
}

function startOf(block: number): number {
  return block === 0 ? 0 : PREFIX_LENGTH + block * BLOCK;
}

async function damagedBlocks(): Promise<ObjectVector[]> {
  const { parts, upTo } = await fourBlocks('damaged');
  const damaged = (name: string, block: number, offset: number, attacks: number[]) => {
    const payload = flipBit(parts.payload, startOf(block) + offset, 3);
    const released = block === 0 ? new Uint8Array(0) : upTo(block);
    return refused(`damaged, ${name}`, 'block-digest', joinObject({ ...parts, payload }), { attacks, released });
  };
  return Promise.all([
    damaged('salt', 0, 0, [8]),
    damaged('commitment', 0, 24, [8, 16]),
    damaged('first chunk', 0, PREFIX_LENGTH, [8]),
    damaged('first tag', 0, PREFIX_LENGTH + BLOCK - 1, [8]),
    damaged('second block', 1, 100, [9]),
    damaged('second tag', 1, BLOCK - 1, [9]),
    damaged('third block', 2, 0, [9]),
    damaged('last block', 3, 10, [9]),
    damaged('last byte', 3, parts.payload.length - startOf(3) - 1, [9]),
  ]);
}

async function cutAndContinued(): Promise<ObjectVector[]> {
  const { parts, upTo } = await fourBlocks('cut');
  const cut = (where: string, length: number, blocks: number) => {
    const released = blocks === 0 ? new Uint8Array(0) : upTo(blocks);
    const object = joinObject({ ...parts, payload: parts.payload.subarray(0, length) });
    return refused(`cut ${where}`, 'object-truncated', object, { attacks: [10], released });
  };
  const joined = (more: Uint8Array) => joinObject({ ...parts, payload: concat(parts.payload, more) });
  const coarse = splitObject((await sparseObject(await encryptedOptions('coarse', 60_000))).object);
  return Promise.all([
    cut('before the payload', 0, 0),
    cut('inside the salt', 10, 0),
    cut('one byte before the second block', startOf(1) - 1, 0),
    cut('between the first and the second block', startOf(1), 1),
    cut('one byte into the second block', startOf(1) + 1, 1),
    cut('in the middle of the third block', startOf(2) + 8000, 2),
    cut('between the third and the last block', startOf(3), 3),
    cut('one byte before the end', parts.payload.length - 1, 3),
    refused(
      'cut at a chunk inside a block',
      'object-truncated',
      joinObject({ ...coarse, payload: coarse.payload.subarray(0, startOf(2)) }),
      { attacks: [10] },
    ),
    refused('one byte behind the end', 'object-trailing', joined(new Uint8Array(1)), {
      attacks: [11],
      released: upTo(3),
    }),
    refused('a line feed behind the end', 'object-trailing', joined(utf8('\n')), {
      attacks: [3, 11],
      released: upTo(3),
    }),
    refused('the last block twice', 'object-trailing', joined(parts.payload.subarray(startOf(3))), {
      attacks: [11],
      released: upTo(3),
    }),
    refused('the object twice', 'object-trailing', concat(joinObject(parts), joinObject(parts)), {
      attacks: [11],
      released: upTo(3),
    }),
    refused(
      'short, with one byte behind the end',
      'object-trailing',
      concat(await smallObject('trailing'), new Uint8Array(1)),
      { attacks: [11] },
    ),
  ]);
}

async function movedBlocks(): Promise<ObjectVector[]> {
  const { parts, upTo } = await fourBlocks('one');
  const other = await fourBlocks('another');
  const block = (from: Parts, index: number) => from.payload.subarray(startOf(index), startOf(index + 1));
  const made = (name: string, blocks: Uint8Array[], released: Uint8Array) =>
    refused(name, 'block-digest', joinObject({ ...parts, payload: concat(...blocks) }), { attacks: [14], released });
  const [b0, b1, b2, b3] = [0, 1, 2, 3].map((index) => block(parts, index)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  return Promise.all([
    made('blocks exchanged', [b0, b2, b1, b3], upTo(1)),
    made('a block twice', [b0, b1, b1, b3], upTo(2)),
    made('a block left out', [b0, b2, b3, b3], upTo(1)),
    made('a block of another object under the same key', [b0, block(other.parts, 1), b2, b3], upTo(1)),
    made(
      'the first block of another object under the same key',
      [block(other.parts, 0), b1, b2, b3],
      new Uint8Array(0),
    ),
    made('the payload of another object under the same key', [other.parts.payload], new Uint8Array(0)),
  ]);
}

/** Payloads that the publisher signed, though they do not decrypt: the checks behind the digests. */
async function signedButWrong(): Promise<ObjectVector[]> {
  const { parts, upTo } = await fourBlocks('signed');
  const { payload } = parts;
  const nothing: Uint8Array = new Uint8Array(0);
  const signed = async (name: string, outcome: string, changed: Uint8Array, attacks: number[], released = nothing) =>
    refused(name, outcome, joinObject(await withPayload(parts, changed)), { attacks, released });
  const otherPath = await smallParts('context', { path: '/b.html' });
  const moved = joinObject(withHeader(otherPath, { path: '/a.html' }));
  const coarse = await coarseChunks('inside a block');
  return Promise.all([
    signed('signed, commitment flipped', 'payload-invalid', flipBit(payload, 30), [16]),
    signed('signed, salt flipped', 'payload-invalid', flipBit(payload, 3), [16]),
    refused('signed, made for another path', 'payload-invalid', moved, { attacks: [18] }),
    signed('signed, tag of the first chunk flipped', 'payload-invalid', flipBit(payload, startOf(1) - 1), [8]),
    signed('signed, first chunk flipped', 'payload-invalid', flipBit(payload, PREFIX_LENGTH + 50), [8]),
    signed('signed, second chunk flipped', 'payload-invalid', flipBit(payload, startOf(1)), [9], upTo(1)),
    signed(
      'signed, tag of the last chunk flipped',
      'payload-invalid',
      flipBit(payload, payload.length - 1),
      [9],
      upTo(3),
    ),
    signed(
      'signed, two final chunks',
      'payload-invalid',
      concat(payload, await finalChunk('signed', 4)),
      [11],
      upTo(3),
    ),
    signed('signed, last chunk cut short', 'payload-invalid', payload.subarray(0, -7), [10, 11]),
    signed(
      'signed, chunks exchanged',
      'payload-invalid',
      concat(
        payload.subarray(0, startOf(1)),
        payload.subarray(startOf(2), startOf(3)),
        payload.subarray(startOf(1), startOf(2)),
        payload.subarray(startOf(3)),
      ),
      [14],
      upTo(1),
    ),
    signed(
      'signed, first chunk only and an empty one',
      'payload-invalid',
      concat(payload.subarray(0, startOf(1)), await finalChunk('signed', 0)),
      [10, 11],
    ),
    coarse('signed, chunks of one block exchanged', [0, 2, 1, 3]),
    coarse('signed, a chunk of one block twice', [0, 1, 1, 3]),
    shortMiddleChunk(),
  ]);
}

/** An empty final chunk, rightly encrypted as number `index` of the message with this name's salt. */
async function finalChunk(name: string, index: number): Promise<Uint8Array> {
  const context = payloadContext({ site: SITE, path: '/a.html', set: setKey.id });
  const { keys } = await beginMessage(setKey.key, context, await saltOf(name));
  return aes256GcmSeal(keys.key, chunkNonce(keys.baseNonce, index), new Uint8Array(0), new Uint8Array(0));
}

/** Arranges the chunks of a one-block object anew, signed by the publisher. */
async function coarseChunks(name: string): Promise<(title: string, order: number[]) => Promise<ObjectVector>> {
  const options = await encryptedOptions(name, 3 * CHUNK_LENGTH + 1000);
  const parts = splitObject((await sparseObject(options)).object);
  return async (title, order) => {
    const chunks = order.map((index) => parts.payload.subarray(startOf(index), startOf(index + 1)));
    const first = parts.payload.subarray(0, PREFIX_LENGTH);
    chunks[0] = parts.payload.subarray(PREFIX_LENGTH, startOf(1));
    return refused(title, 'payload-invalid', joinObject(await withPayload(parts, concat(first, ...chunks))), {
      attacks: [14],
    });
  };
}

/** A chunk in the middle that is shorter than the others and right in itself, under the publisher's signature. */
async function shortMiddleChunk(): Promise<ObjectVector> {
  const { parts, upTo } = await fourBlocks('short middle');
  const context = payloadContext({ site: SITE, path: '/a.html', set: setKey.id });
  const { keys } = await beginMessage(setKey.key, context, await saltOf('short middle'));
  const short = await aes256GcmSeal(keys.key, chunkNonce(keys.baseNonce, 1), new Uint8Array(16_000), new Uint8Array(0));
  const [before, behind] = [parts.payload.subarray(0, startOf(1)), parts.payload.subarray(startOf(2))];
  const payload = concat(before, short, behind, new Uint8Array(CHUNK_LENGTH - 16_000));
  const object = joinObject(await withPayload(parts, payload));
  return refused('signed, short middle chunk', 'payload-invalid', object, { attacks: [11], released: upTo(1) });
}

/** Row 17: a subscriber who holds the set key can encrypt like the publisher. */
async function byASubscriber(): Promise<ObjectVector[]> {
  const parts = await smallParts('original');
  const forged = splitObject(
    await encodeObject(
      await encryptedOptions('forgery', TEXT.length),
      TEXT.map((byte) => byte ^ 1),
    ),
  );
  const redigested = { ...parts, digests: await sha256(forged.payload), payload: forged.payload };
  const reheaded = { ...forged, signature: parts.signature };
  return Promise.all([
    refused('re-encrypted by a subscriber', 'block-digest', joinObject({ ...parts, payload: forged.payload }), {
      attacks: [17],
    }),
    refused('re-encrypted by a subscriber, with digests', 'block-digest', joinObject(redigested), { attacks: [17] }),
    refused('re-encrypted by a subscriber, with digests and header', 'signature-invalid', joinObject(reheaded), {
      attacks: [17],
    }),
  ]);
}

async function signedDocuments(): Promise<ObjectVector[]> {
  const content = markedContent(3 * CHUNK_LENGTH + 100);
  const options = signedOptions(content.length, { blockChunks: 1, path: '/a.html' });
  const head = await encodeObject(options, content);
  const upTo = (blocks: number) => content.subarray(0, blocks * CHUNK_LENGTH);
  const served = (name: string, outcome: string, bytes: Uint8Array, attacks: number[], blocks = 0) =>
    refused(`signed document, ${name}`, outcome, head, { attacks, content: bytes, released: upTo(blocks) });
  const exchanged = concat(
    upTo(1),
    content.subarray(2 * CHUNK_LENGTH, 3 * CHUNK_LENGTH),
    content.subarray(CHUNK_LENGTH, 2 * CHUNK_LENGTH),
    content.subarray(3 * CHUNK_LENGTH),
  );
  return Promise.all([
    served('first block damaged', 'block-digest', flipBit(content, 9), [8]),
    served('second block damaged', 'block-digest', flipBit(content, CHUNK_LENGTH), [9], 1),
    served('last byte damaged', 'block-digest', flipBit(content, content.length - 1), [9], 3),
    served('blocks exchanged', 'block-digest', exchanged, [14], 1),
    served('content missing', 'object-truncated', new Uint8Array(0), [10]),
    served('content cut', 'object-truncated', content.subarray(0, -1), [10], 3),
    served('content cut at a block', 'object-truncated', content.subarray(0, CHUNK_LENGTH), [10], 1),
    served('content continued', 'object-trailing', concat(content, utf8('\n')), [11], 3),
    refused(
      'signed document, empty, with content',
      'object-trailing',
      await encodeObject(signedOptions(0, { path: '/a.html' }), new Uint8Array(0)),
      { attacks: [11, 12], content: utf8('x') },
    ),
    refused('signed document, bytes behind the head', 'object-trailing', concat(await smallHead(), new Uint8Array(1)), {
      attacks: [11],
      content: TEXT,
    }),
    refused('signed document, content behind the head', 'object-trailing', concat(await smallHead(), TEXT), {
      attacks: [11],
      content: TEXT,
    }),
  ]);
}
