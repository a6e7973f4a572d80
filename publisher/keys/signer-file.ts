/** A signer's public key as a file that is handed over: a line of base64url; lines that begin with `#` are comments. */
import { readFile } from 'node:fs/promises';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { KEY_LENGTH } from '../../core/keys/key-id.ts';
import { tufKeyId } from '../../core/publication/keys.ts';
import type { Argon2idCost } from '../../node-support/argon2id.ts';
import { createFile } from '../../node-support/files/write-file.ts';
import { describeUnreadable, permissionHint, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from './file-update.ts';
import { MAXIMUM_SEALED_FILE_LENGTH } from './limits.ts';
import { createSigningKeys } from './signing-keys.ts';

export interface NewSigner {
  /** Encrypted; stays with the signer. */
  readonly file: string;
  /** Handed to the publisher. */
  readonly publicFile: string;
  readonly keyid: string;
}

/**
 * Makes a key pair for somebody who is to sign: `file`, and `file.pub`. Nothing is overwritten.
 *
 * @param cost - for tests: a cheaper password hash
 * @throws PublishError `passphrase-too-short`, `output-failed`
 */
export async function createSigner(file: string, passphrase: string, cost?: Argon2idCost): Promise<NewSigner> {
  const seed = randomBytes(KEY_LENGTH);
  const { publicKey } = ed25519KeyPair(seed);
  const publicFile = `${file}.pub`;
  const keyid = await tufKeyId(publicKey);
  await create(file, await createSigningKeys(passphrase, [seed], { cost }), 0o600);
  const text = `# Public key of a signer, key id ${keyid}\n# Hand it to the publisher, who runs: wispr keys add ROLE FILE\n${toBase64url(publicKey)}\n`;
  await create(publicFile, utf8(text), 0o644);
  return { file, publicFile, keyid };
}

/**
 * Reads a signer's public key.
 *
 * @throws PublishError `signer-invalid`
 */
export async function readSigner(file: string): Promise<Uint8Array> {
  const hint = 'it is the file that ends in .pub, made by "wispr keys new-signer"';
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new PublishError('signer-invalid', describeUnreadable(file, error), { cause: error, typed: true, hint });
  });
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const key = lines.length === 1 ? fromBase64url(lines[0]?.trim(), KEY_LENGTH) : undefined;
  if (key !== undefined) return key;
  throw new PublishError('signer-invalid', `${file} does not hold the public key of a signer`, { hint });
}

/**
 * The bytes of a file of signing keys.
 *
 * @throws PublishError `root-keys-missing`
 */
export async function readSigningKeys(file: string): Promise<Uint8Array> {
  try {
    return (await readFile(file)).subarray(0, MAXIMUM_SEALED_FILE_LENGTH + 1);
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** As {@link readSigningKeys}, and `undefined` if there is no such file. */
export async function readSigningKeysIfThere(file: string): Promise<Uint8Array | undefined> {
  try {
    return (await readIfThere(file))?.subarray(0, MAXIMUM_SEALED_FILE_LENGTH + 1);
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): PublishError {
  return new PublishError('root-keys-missing', describeUnreadable(file, error), {
    cause: error,
    hint: permissionHint(error) ?? 'check the path, and that the disk is there on which you keep it',
  });
}

/** Writes a file that must not exist yet. @throws PublishError `output-failed` */
export async function create(file: string, bytes: Uint8Array, mode: number): Promise<void> {
  const fail = (reason: string, options: ErrorOptions & { hint?: string }) =>
    new PublishError('output-failed', `cannot write ${file}: ${reason}`, options);
  let created: boolean;
  try {
    created = createFile(file, bytes, mode);
  } catch (error) {
    throw fail(systemReason(error), { cause: error });
  }
  if (!created) throw fail('it exists', { hint: 'name another file, or move that one away' });
}
