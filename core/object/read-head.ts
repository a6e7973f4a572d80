/** Reads heads: verification steps 1 to 9 of docs/spec/protected-object.md. */
import { ed25519Verify, sha256 } from '#primitives';
import { type KeyId, knownKeyId } from '../crypto/key-id.ts';
import { toBase64url } from '../encoding/base64url.ts';
import { ByteReader, streamOf } from '../encoding/byte-reader.ts';
import { concat, equalBytes, readU32 } from '../encoding/bytes.ts';
import { toHex } from '../encoding/hex.ts';
import { ObjectError } from './errors.ts';
import { blockCount } from './geometry.ts';
import { DIGEST_LENGTH, type Head, MAGIC, SIGNATURE_LABEL, SIGNATURE_LENGTH } from './head.ts';
import { isEncrypted, parseHeader, payloadShape } from './header.ts';
import { LIMITS } from './limits.ts';

export interface Expectation {
  readonly site: string;
  readonly path: string;
  /** The Ed25519 public key of the publisher that the reader is bound to for this site. */
  readonly publisherKey: Uint8Array;
  /** Pin of the head, from the site's publication. Left out by callers that look at an object by itself. */
  readonly pin?: HeadPin;
}

/** Length and digest of a document's head, from the publication. */
export interface HeadPin {
  /** Hexadecimal. */
  readonly sha256: string;
  /** Bytes. */
  readonly length: number;
  /** Key id of the set key; `undefined` for a public document. */
  readonly set: KeyId | undefined;
  /** True if a bin of the publication names it: step 6 is left out. */
  readonly inBin?: boolean | undefined;
}

/**
 * Reads a head and takes verification steps 1 to 9. The signature is checked before the digest list is read. Where a publication names the
 * head, nothing of it is looked at before its hash has passed (step P10 of docs/spec/publication.md); where a bin names it, that stands for step 6.
 *
 * @throws ObjectError naming the first check that failed
 */
export async function readHead(input: ByteReader, expected: Expectation): Promise<Head> {
  const { pin } = expected;
  if (pin === undefined) return readHeadFrom(input, expected);
  const pinned = await readPinned(input, pin);
  const bytes = new ByteReader(streamOf(pinned.bytes));
  const head = await readHeadFrom(bytes, expected);
  if (!(await bytes.atEnd())) throw unexpected('more follows in it than belongs to a head');
  // An object of another set would be opened with that set's key.
  if ((isEncrypted(head.header) ? head.header.set : undefined) !== pin.set)
    throw unexpected('it belongs to another set');
  return { ...head, pinned };
}

/** P10: the bytes that the publication names, and no more. */
async function readPinned(input: ByteReader, { length, sha256: hash }: HeadPin): Promise<Required<Head>['pinned']> {
  const maximum = LIMITS.headerLength + LIMITS.blocks * DIGEST_LENGTH + 100;
  const bytes = length <= maximum ? await input.read(length) : undefined;
  if (bytes === undefined) throw unexpected('it is shorter');
  const digest = await sha256(bytes);
  if (toHex(digest) !== hash) throw unexpected('its hash is another');
  return { bytes: new Uint8Array(bytes), digest };
}

function unexpected(why: string): ObjectError {
  return new ObjectError(
    'head-unexpected',
    `what the content host has is not the document that the publication names: ${why}`,
  );
}

async function readHeadFrom(input: ByteReader, expected: Expectation): Promise<Head> {
  const { header, headerBytes, signature } = await readSignedPart(input);
  await checkPublisher(header.publisher, expected.publisherKey);
  if (!expected.pin?.inBin) await checkSignature(headerBytes, signature, expected.publisherKey);
  const head = await readDigests(input, { header, headerBytes, signature });
  // Steps 8 and 9.
  if (header.site !== expected.site)
    throw new ObjectError('site-mismatch', `the object belongs to the site ${header.site}`);
  if (header.path !== expected.path)
    throw new ObjectError('path-mismatch', `the object belongs at ${JSON.stringify(header.path)}`);
  return head;
}

/**
 * Reads a head of any publisher and checks its form only (steps 1 to 4, and 7), for `wispr inspect`. Nothing in it is proved.
 *
 * @throws ObjectError naming the first check that failed
 */
export async function readUnverifiedHead(input: ByteReader): Promise<Head> {
  return readDigests(input, await readSignedPart(input));
}

type SignedPart = Pick<Head, 'header' | 'headerBytes' | 'signature'>;

/** Steps 1 to 4. Unauthenticated: reads at most 8 + 4 + 65,536 + 64 bytes. */
async function readSignedPart(input: ByteReader): Promise<SignedPart> {
  checkMagic(await readOrFail(input, MAGIC.length, 'object-unrecognised'));
  const length = readU32(await readOrFail(input, 4));
  if (length < 2 || length > LIMITS.headerLength) {
    throw new ObjectError(
      'header-invalid',
      `the header claims ${length} bytes, 2 to ${LIMITS.headerLength} are possible`,
    );
  }
  const headerBytes = new Uint8Array(await readOrFail(input, length));
  const header = parseHeader(headerBytes);
  return { header, headerBytes, signature: new Uint8Array(await readOrFail(input, SIGNATURE_LENGTH)) };
}

/** Step 7. */
async function readDigests(input: ByteReader, part: SignedPart): Promise<Head> {
  const length = blockCount(payloadShape(part.header)) * DIGEST_LENGTH;
  const digests = new Uint8Array(await readOrFail(input, length));
  if (toBase64url(await sha256(digests)) !== part.header.digestListDigest) {
    throw new ObjectError('block-digest', 'the list of block digests is not the signed one');
  }
  return { ...part, digests, length: MAGIC.length + 4 + part.headerBytes.length + SIGNATURE_LENGTH + length };
}

async function readOrFail(
  input: ByteReader,
  length: number,
  code: 'object-truncated' | 'object-unrecognised' = 'object-truncated',
): Promise<Uint8Array> {
  const bytes = await input.read(length);
  if (bytes === undefined) throw new ObjectError(code, 'the object ends inside its head');
  return bytes;
}

/** Step 1. */
function checkMagic(magic: Uint8Array): void {
  if (equalBytes(magic, MAGIC)) return;
  const text = String.fromCharCode(...magic);
  if (/^wispr\/\d+(?:\n|$)/.test(text)) {
    throw new ObjectError(
      'object-version',
      `format version ${text.trimEnd().slice(6)} is unknown; version 1 is supported`,
    );
  }
  const mangled = text.startsWith('wispr/1') ? ': its line ends were changed in transit' : '';
  throw new ObjectError('object-unrecognised', `not a protected object${mangled}`);
}

/** Step 5. */
async function checkPublisher(publisher: KeyId, publicKey: Uint8Array): Promise<void> {
  if (publisher !== (await knownKeyId('publisher', publicKey))) {
    throw new ObjectError(
      'publisher-unexpected',
      'the object is signed by another publisher than this site is bound to',
    );
  }
}

/** Step 6. */
async function checkSignature(headerBytes: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): Promise<void> {
  if (!(await ed25519Verify(signature, concat(SIGNATURE_LABEL, headerBytes), publicKey))) {
    throw new ObjectError('signature-invalid', "the publisher's signature is not valid");
  }
}
