/** The fixed keys, salts and contents of the vectors. All secrets here are public: SHA-256 of their names. */
import { aes256GcmSeal, CHUNK_LENGTH, chunkNonce, ed25519KeyPair, sha256 } from '#primitives';
import { beginMessage, SALT_LENGTH } from '../../../core/crypto/chunked-encryption.ts';
import { type KeyKind, keyIdOf } from '../../../core/crypto/key-id.ts';
import { concat, utf8 } from '../../../core/encoding/bytes.ts';
import type { NamedKey } from '../../../core/keys/wrapped-key.ts';
import { encodeMessageFront, payloadContext } from '../../../core/object/message.ts';
import { encodeObject, type ObjectOptions, publisherIdentity } from '../../../core/object/writer.ts';
import { rootIdOf } from '../../../core/publication/writer.ts';

/** 32 bytes that stand for a random value. */
export function secret(name: string): Promise<Uint8Array> {
  return sha256(utf8(`wispr test vectors: ${name}`));
}

export async function namedKey(kind: KeyKind, name: string): Promise<NamedKey> {
  const key = await secret(`${kind} key ${name}`);
  return { id: await keyIdOf(kind, key), key };
}

export const SITE = 'news.example';
export const NOW = 1_795_132_800;

export const publisher = await publisherIdentity(ed25519KeyPair(await secret('publisher')));
export const otherPublisher = await publisherIdentity(ed25519KeyPair(await secret('another publisher')));
/** What stands for the bytes of a first root: nothing here reads them. */
export const firstRoot = utf8('{"signatures":[],"signed":{"_type":"root"}}');
export const rootId = await rootIdOf(firstRoot);
export const otherRootId = await rootIdOf(utf8('another root'));
export const setKey = await namedKey('set', 'subscribers');
export const otherSetKey = await namedKey('set', 'sports');

/** The salt of the vector with this name. */
export async function saltOf(name: string): Promise<Uint8Array> {
  return (await secret(`salt of ${name}`)).subarray(0, SALT_LENGTH);
}

/** Options of an encrypted document of the fixed publisher. */
export async function encryptedOptions(
  name: string,
  contentLength: number,
  changes: Partial<ObjectOptions> = {},
): Promise<ObjectOptions> {
  return {
    site: SITE,
    path: '/a.html',
    publisher,
    metadata: { contentLength, mediaType: 'text/html; charset=utf-8' },
    set: setKey,
    saltForVectors: await saltOf(name),
    ...changes,
  };
}

/**
 * Content whose encryption is zeros but for the front of the message, eight bytes at the start of each chunk, and the tags, so that
 * big objects take few bytes in these files. The content itself looks random.
 */
async function sparseContent(options: ObjectOptions): Promise<Uint8Array> {
  const { set, metadata, saltForVectors } = options;
  if (!set || !saltForVectors) throw new Error('only encrypted vectors have sparse content');
  const { keys } = await beginMessage(set.key, payloadContext({ ...options, set: set.id }), saltForVectors);
  const front = encodeMessageFront(metadata).length;
  const chunks: Uint8Array[] = [];
  for (let length = 0; length < front + metadata.contentLength; length += CHUNK_LENGTH) {
    const nonce = chunkNonce(keys.baseNonce, chunks.length);
    const sealed = await aes256GcmSeal(keys.key, nonce, markedChunk(chunks.length), new Uint8Array(0));
    chunks.push(sealed.subarray(0, CHUNK_LENGTH));
  }
  return concat(...chunks).subarray(front, front + metadata.contentLength);
}

/** Content of signed documents: zeros, with eight bytes at the start of each chunk. */
export function markedContent(length: number): Uint8Array {
  const count = Math.ceil(length / CHUNK_LENGTH);
  return concat(...Array.from({ length: count }, (_, index) => markedChunk(index))).subarray(0, length);
}

function markedChunk(index: number): Uint8Array {
  const chunk = new Uint8Array(CHUNK_LENGTH);
  chunk.set(utf8(`#${String(index).padStart(6, '0')} `));
  return chunk;
}

/** An encrypted object of sparse content. */
export async function sparseObject(options: ObjectOptions): Promise<{ object: Uint8Array; content: Uint8Array }> {
  const content = await sparseContent(options);
  return { object: await encodeObject(options, content), content };
}
