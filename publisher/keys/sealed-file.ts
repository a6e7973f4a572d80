/**
 * Files of secrets under a passphrase: `publisher.keys`, `root.keys`, and key files of signers.
 *
 *   canonical JSON { argon2id, digest, sealed, version }
 *   sealed = C2SP chunked-encryption, Cobblestone-256, under Argon2id(passphrase), of canonical JSON; `version`, which says what kind of
 *   file it is, is the context
 *
 * `digest` is of all other members: it tells a damaged file from a wrong passphrase, and proves nothing else.
 */
import { randomBytes, sha256 } from '#primitives';
import { openMessage, sealMessage } from '../../core/crypto/chunked-encryption.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { lengthPrefixed, utf8 } from '../../core/encoding/bytes.ts';
import {
  canonicalJson,
  hasMembers,
  isJsonObject,
  type Json,
  type JsonObject,
  parseCanonicalJson,
} from '../../core/encoding/canonical-json.ts';
import {
  ARGON2ID_SALT_LENGTH,
  type Argon2idCost,
  type Argon2idParameters,
  areArgon2idParameters,
  isLongEnough,
  keyFromPassphrase,
  LEAST_PASSPHRASE,
  newParameters,
} from '../../node-support/argon2id.ts';
import { PublishError } from '../errors.ts';
import { MAXIMUM_SEALED_FILE_LENGTH } from '../workspace/workspace.ts';

export interface SealedKind {
  readonly version: string;
  readonly name: string;
}

/** The kinds there are, by {@link SealedKind.version}: what such a file holds, and what to do where one is needed and another is there. */
const KINDS: Readonly<Record<string, string>> = {
  'wispr key store 2': 'the keys of a workspace',
  'wispr signing keys 1': 'signing keys only',
};

/** An opened file: what it holds, and how to seal something else under the same passphrase. */
export interface OpenSealedFile {
  readonly content: Json | undefined;
  seal(content: JsonObject): Promise<Uint8Array>;
}

/**
 * Seals `content` under a new passphrase.
 *
 * @param cost - for tests: a cheaper password hash
 * @throws PublishError `passphrase-too-short`
 */
export async function createSealedFile(
  kind: SealedKind,
  passphrase: string,
  content: JsonObject,
  cost?: Argon2idCost,
): Promise<Uint8Array> {
  if (!isLongEnough(passphrase)) {
    throw new PublishError('passphrase-too-short', `the passphrase has fewer than ${LEAST_PASSPHRASE} characters`, {
      typed: true,
    });
  }
  const parameters = newParameters(randomBytes(ARGON2ID_SALT_LENGTH), cost);
  return seal(kind, content, await deriveKey(passphrase, parameters), parameters);
}

/** @throws PublishError `key-store-refused`, `key-file-refused`, `passphrase-wrong` */
export async function openSealedFile(kind: SealedKind, bytes: Uint8Array, passphrase: string): Promise<OpenSealedFile> {
  const { parameters, sealed } = await parseSealedFile(kind, bytes);
  const key = await deriveKey(passphrase, parameters);
  const message = await openMessage(key, contextOf(kind), sealed);
  if (message === undefined) throw new PublishError('passphrase-wrong', `the passphrase does not open ${kind.name}`);
  return { content: parseCanonicalJson(message), seal: (content) => seal(kind, content, key, parameters) };
}

let lastKey: { readonly of: string; readonly key: ReturnType<typeof keyFromPassphrase> } | undefined;

/** Derives the key of a passphrase. The last one is kept: a publish opens one file several times, and each derivation takes a fifth of a second. */
function deriveKey(passphrase: string, parameters: Argon2idParameters): ReturnType<typeof keyFromPassphrase> {
  const of = JSON.stringify([passphrase, parameters]);
  if (lastKey?.of === of) return lastKey.key;
  const key = keyFromPassphrase(passphrase, parameters);
  lastKey = { of, key };
  key.catch(() => {
    lastKey = undefined;
  });
  return key;
}

export function damagedFile({ name }: SealedKind): PublishError {
  const why = name.endsWith('.pub') ? ': it is the public half, and the secret file has no .pub at its end' : '';
  return new PublishError('key-store-refused', `${name} is damaged, or no key file${why}`);
}

async function seal(
  kind: SealedKind,
  content: JsonObject,
  key: Uint8Array,
  argon2id: Argon2idParameters,
): Promise<Uint8Array> {
  const sealed = toBase64url(await sealMessage(key, contextOf(kind), canonicalJson(content)));
  const file = { argon2id: { ...argon2id }, sealed, version: kind.version };
  return canonicalJson({ ...file, digest: await digestOf(file) });
}

/** Parses and checks a file before the password hash. */
async function parseSealedFile(
  kind: SealedKind,
  bytes: Uint8Array,
): Promise<{ parameters: Argon2idParameters; sealed: Uint8Array }> {
  const file = bytes.length <= MAXIMUM_SEALED_FILE_LENGTH ? parseCanonicalJson(bytes) : undefined;
  if (!isJsonObject(file) || !hasMembers(file, ['argon2id', 'digest', 'sealed', 'version'])) throw damagedFile(kind);
  const { digest, ...rest } = file;
  const parameters = rest.argon2id;
  if (!areArgon2idParameters(parameters)) throw damagedFile(kind); // computes no hash
  const sealed = fromBase64url(rest.sealed);
  if (sealed === undefined || digest !== (await digestOf(rest))) throw damagedFile(kind);
  if (rest.version !== kind.version) throw anotherKind(kind, String(rest.version));
  return { parameters, sealed };
}

function contextOf({ version }: SealedKind): Uint8Array {
  return lengthPrefixed(utf8(version));
}

async function digestOf(rest: JsonObject): Promise<string> {
  return toBase64url(await sha256(canonicalJson(rest)));
}

/** A wrong file was named, or two were exchanged. */
function anotherKind({ name, version: wanted }: SealedKind, found: string): PublishError {
  const holds = KINDS[found] ?? 'keys of a kind that this version does not know';
  return new PublishError(
    'key-file-refused',
    `${name} holds ${holds}, and a file with ${KINDS[wanted]} is needed here`,
  );
}
