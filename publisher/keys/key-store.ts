/**
 * The publisher's key store, `publisher.keys`: everything secret, encrypted under a passphrase. It stays offline.
 *
 *   canonical JSON { argon2id, digest, sealed, version }
 *   sealed = C2SP chunked-encryption, Cobblestone-256, under Argon2id(passphrase), of canonical JSON { publisherSeed, serial, sets, workspace }
 *
 * `digest` is of all other members: it tells a damaged file from a wrong passphrase, and proves nothing else.
 */
import { ed25519KeyPair, randomBytes, sha256 } from '#primitives';
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
import { KEY_LENGTH } from '../../core/keys/key-id.ts';
import { openMessage, sealMessage } from '../../core/object/chunked-encryption.ts';
import { type PublisherIdentity, publisherIdentity } from '../../core/object/writer.ts';
import {
  ARGON2ID_SALT_LENGTH,
  type Argon2idParameters,
  areArgon2idParameters,
  keyFromPassphrase,
  recommendedParameters,
} from '../../node-support/argon2id.ts';
import { PublishError } from '../errors.ts';

/** The bytes of the largest key store that is read. */
export const MAXIMUM_KEY_STORE_LENGTH = 16 * 1024 * 1024;

/** Characters of the shortest passphrase that is taken for a new key store. */
const MINIMUM_PASSPHRASE_LENGTH = 8;

const VERSION = 'wispr key store 1';
const CONTEXT = lengthPrefixed(utf8(VERSION));
const WORKSPACE_LENGTH = 16;

/** What a key store holds. */
export interface KeyStoreContents {
  /** Version of the last publication whose metadata may have been written; 0 before the first. */
  readonly publication: number;
  /** Seed of the publisher's Ed25519 key. */
  readonly publisherSeed: Uint8Array;
  /** Serial of the last key bundle. */
  readonly serial: number;
  /** Set keys by the name of the set. */
  readonly sets: ReadonlyMap<string, Uint8Array>;
  /** 16 random bytes that name this workspace to its key server. */
  readonly workspace: Uint8Array;
}

/** An opened key store. */
export interface OpenKeyStore {
  readonly contents: KeyStoreContents;
  readonly publisher: PublisherIdentity;
  /** The bytes of the file that holds `contents`, under the same passphrase. */
  seal(contents: KeyStoreContents): Promise<Uint8Array>;
}

/**
 * Makes the bytes of a new key store with a new publisher key in it.
 *
 * @throws PublishError `passphrase-too-short`
 */
export async function createKeyStore(passphrase: string): Promise<{ bytes: Uint8Array; publisher: PublisherIdentity }> {
  if ([...passphrase].length < MINIMUM_PASSPHRASE_LENGTH) {
    throw new PublishError(
      'passphrase-too-short',
      `the passphrase has fewer than ${MINIMUM_PASSPHRASE_LENGTH} characters`,
      {
        typed: true,
        hint: 'four or five unrelated words are easy to remember and hard to guess',
      },
    );
  }
  const parameters = recommendedParameters(randomBytes(ARGON2ID_SALT_LENGTH));
  const publisherSeed = randomBytes(KEY_LENGTH);
  const contents = {
    publication: 0,
    publisherSeed,
    serial: 0,
    sets: new Map(),
    workspace: randomBytes(WORKSPACE_LENGTH),
  };
  const bytes = await seal(contents, await keyFromPassphrase(passphrase, parameters), parameters);
  return { bytes, publisher: await publisherIdentity(ed25519KeyPair(publisherSeed)) };
}

/**
 * Opens a key store.
 *
 * @throws PublishError `key-store-damaged`, `key-store-parameters`, `passphrase-wrong`
 */
export async function openKeyStore(bytes: Uint8Array, passphrase: string): Promise<OpenKeyStore> {
  const { parameters, sealed } = await parseKeyStore(bytes);
  const key = await keyFromPassphrase(passphrase, parameters);
  const message = await openMessage(key, CONTEXT, sealed);
  if (message === undefined) throw new PublishError('passphrase-wrong', 'the passphrase does not open publisher.keys');
  const contents = parseContents(parseCanonicalJson(message));
  const publisher = await publisherIdentity(ed25519KeyPair(contents.publisherSeed));
  return { contents, publisher, seal: (changed) => seal(changed, key, parameters) };
}

async function seal(contents: KeyStoreContents, key: Uint8Array, argon2id: Argon2idParameters): Promise<Uint8Array> {
  const message = canonicalJson({
    publication: contents.publication,
    publisherSeed: toBase64url(contents.publisherSeed),
    serial: contents.serial,
    sets: Array.from(contents.sets, ([name, setKey]) => ({ key: toBase64url(setKey), name })),
    workspace: toBase64url(contents.workspace),
  });
  const sealed = toBase64url(await sealMessage(key, CONTEXT, message));
  const store = { argon2id: { ...argon2id }, sealed, version: VERSION };
  return canonicalJson({ ...store, digest: await digestOf(store) });
}

/** Everything that is done before the password hash. */
async function parseKeyStore(bytes: Uint8Array): Promise<{ parameters: Argon2idParameters; sealed: Uint8Array }> {
  const store = bytes.length <= MAXIMUM_KEY_STORE_LENGTH ? parseCanonicalJson(bytes) : undefined;
  if (!isJsonObject(store) || !hasMembers(store, ['argon2id', 'digest', 'sealed', 'version'])) throw damaged();
  const { digest, ...rest } = store;
  const parameters = rest.argon2id;
  if (!areArgon2idParameters(parameters)) throw outOfBounds();
  const sealed = fromBase64url(rest.sealed);
  if (sealed === undefined || rest.version !== VERSION || digest !== (await digestOf(rest))) throw damaged();
  return { parameters, sealed };
}

function parseContents(value: Json | undefined): KeyStoreContents {
  if (!isJsonObject(value) || !hasMembers(value, ['publisherSeed', 'serial', 'sets', 'workspace'], ['publication']))
    throw damaged();
  const publisherSeed = fromBase64url(value.publisherSeed, KEY_LENGTH);
  const workspace = fromBase64url(value.workspace, WORKSPACE_LENGTH);
  const { publication = 0, serial, sets } = value;
  if (
    !publisherSeed ||
    !workspace ||
    typeof serial !== 'number' ||
    typeof publication !== 'number' ||
    !Array.isArray(sets)
  )
    throw damaged();
  return { publication, publisherSeed, serial, sets: new Map(sets.map(parseSet)), workspace };
}

function parseSet(value: Json): [string, Uint8Array] {
  const key = isJsonObject(value) ? fromBase64url(value.key, KEY_LENGTH) : undefined;
  if (!isJsonObject(value) || typeof value.name !== 'string' || key === undefined) throw damaged();
  return [value.name, key];
}

async function digestOf(rest: JsonObject): Promise<string> {
  return toBase64url(await sha256(canonicalJson(rest)));
}

function damaged(): PublishError {
  return new PublishError('key-store-damaged', 'publisher.keys is damaged, or not a key store of this version', {
    hint: 'restore it from your backup',
  });
}

function outOfBounds(): PublishError {
  return new PublishError('key-store-parameters', 'the key store asks for a password hash that wispr never makes', {
    hint: 'it was altered: restore publisher.keys from your backup',
  });
}
