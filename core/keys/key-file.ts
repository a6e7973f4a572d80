/**
 * Key files: the set keys of one invitation, on a host that knows nothing of them: docs/spec/web-reader.md, "Key files".
 *
 *   "wispr-keyfile/1\n" (16) || payload: chunked-encryption of length: u32 || canonical JSON || zeros
 */
import { type InputKey, openMessage, sealMessage } from '../crypto/chunked-encryption.ts';
import { hkdfExpand, hkdfExtract } from '../crypto/hkdf.ts';
import { KEY_LENGTH, type KeyId } from '../crypto/key-id.ts';
import { isSealedPadded, padMessage, unpadMessage } from '../crypto/padded-message.ts';
import { toBase64url } from '../encoding/base64url.ts';
import { concat, equalBytes, lengthPrefixed, utf8 } from '../encoding/bytes.ts';
import { areNamedRight, type DocumentKeys, encodeDocumentKeys, parseDocumentKeys } from './document-keys.ts';
import { KeyError } from './errors.ts';
import { MESSAGE_LIMITS } from './limits.ts';

/** Bytes of an invitation's secret, where the link has it; from a password, {@link PASSWORD_COST} makes 32. */
export const INVITATION_SECRET_LENGTH = 16;
export const INVITATION_SALT_LENGTH = 16;

/** Cost of Argon2id for a password: KiB, lanes, passes. Version 1 knows no other: half a second on a computer, a few on a phone. */
export const PASSWORD_COST = { memory: 65_536, parallelism: 1, passes: 3 } as const;

/** Keys in one file. */
export const MAXIMUM_KEYS_PER_FILE = 4_096;

const MAGIC = utf8('wispr-keyfile/1\n');
const LEAST_MESSAGE = 4_096;
const NAME_LENGTH = 16;

/** Publisher and site of a key file. */
export interface KeyFileContext {
  /** Root id of the publisher. */
  readonly root: KeyId;
  readonly site: string;
}

export interface KeyFileAddress {
  /** Name of the file, below `/-/keys/`. Says nothing about the invitation to anyone who does not know its secret. */
  readonly name: string;
  /** Opens the file, and nothing else: 32 bytes. */
  readonly key: Uint8Array;
}

/** Derives where the key file of an invitation lies, and what opens it. @param secret - 16 bytes of the link, or 32 of the password */
export async function keyFileAddressOf(secret: Uint8Array, context: KeyFileContext): Promise<KeyFileAddress> {
  const extracted = await hkdfExtract(utf8('wispr/1 invitation'), secret);
  const derive = (label: string, length: number) => hkdfExpand(extracted, contextOf(label, context), length);
  return {
    name: toBase64url(await derive('wispr/1 key file name', NAME_LENGTH)),
    key: await derive('wispr/1 key file key', KEY_LENGTH),
  };
}

/**
 * @param key - as {@link keyFileAddressOf} derives it
 * @throws KeyError `key-file-malformed` if no reader would take it
 */
export async function encodeKeyFile(keys: DocumentKeys, key: Uint8Array, context: KeyFileContext): Promise<Uint8Array> {
  const message = padMessage(encodeDocumentKeys(keys), LEAST_MESSAGE);
  const file = concat(MAGIC, await sealMessage(key, sealContextOf(context), message));
  if (keys.keys.length > MAXIMUM_KEYS_PER_FILE || file.length > MESSAGE_LIMITS.keyFile)
    throw malformed(`there are more keys than ${MAXIMUM_KEYS_PER_FILE} in it`);
  return file;
}

/** Tells whether `file` can be a key file: steps F1 to F3, which need no key. */
export function isLikeKeyFile(file: Uint8Array): boolean {
  const isMarked = equalBytes(file.subarray(0, MAGIC.length), MAGIC);
  return file.length <= MESSAGE_LIMITS.keyFile && isMarked && isSealedPadded(file.length - MAGIC.length, LEAST_MESSAGE);
}

/**
 * Opens a key file: steps F1 to F6.
 *
 * @param key - as {@link keyFileAddressOf} derives it, or a handle of it
 * @throws KeyError `key-file-malformed`
 */
export async function openKeyFile(file: Uint8Array, key: InputKey, context: KeyFileContext): Promise<DocumentKeys> {
  if (!isLikeKeyFile(file)) throw malformed('it has another length or beginning than key files'); // F1, F2, F3
  const message = await openMessage(key, sealContextOf(context), file.subarray(MAGIC.length));
  if (message === undefined) throw malformed('it was changed, or is of another invitation or site'); // F4
  const plaintext = unpadMessage(message, LEAST_MESSAGE);
  const keys = plaintext && parseDocumentKeys(plaintext, MAXIMUM_KEYS_PER_FILE);
  if (keys === undefined) throw malformed('what is in it is not of the form that it should have'); // F5
  if (!(await areNamedRight(keys))) throw malformed('a key in it is not the key that it is named'); // F6
  return keys;
}

function sealContextOf(context: KeyFileContext): Uint8Array {
  return contextOf('wispr/1 key file', context);
}

function contextOf(label: string, { root, site }: KeyFileContext): Uint8Array {
  return lengthPrefixed(utf8(label), utf8(root), utf8(site));
}

function malformed(what: string): KeyError {
  return new KeyError('key-file-malformed', `this is no sound key file: ${what}`);
}
