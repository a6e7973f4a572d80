/**
 * The roaming file: a device's seed and bindings, under seven words: docs/spec/roaming.md.
 *
 *   "wispr-roaming/1\n" (16) || salt of Argon2id (16) || payload: chunked-encryption of length: u32 || canonical JSON || zeros
 *
 * Argon2id itself is not here: it takes memory and time, which each program finds in its own way.
 */
import { sha256 } from '#primitives';
import { openMessage, sealMessage } from '../crypto/chunked-encryption.ts';
import { hkdfExpand } from '../crypto/hkdf.ts';
import { KEY_LENGTH, keyIdOf } from '../crypto/key-id.ts';
import { isSealedPadded, padMessage, unpadMessage } from '../crypto/padded-message.ts';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, equalBytes, lengthPrefixed, utf8 } from '../encoding/bytes.ts';
import { canonicalJson, hasMembers, isJsonObject, type Json, type JsonObject } from '../encoding/canonical-json.ts';
import { CHUNK_LENGTH } from '../primitives/contract.ts';
import { isSite } from '../site/site.ts';
import { type VerifiedDescriptor, verifyDescriptor } from './descriptor.ts';
import { KeyError } from './errors.ts';
import { MESSAGE_LIMITS } from './limits.ts';
import { parseMessage } from './sealed-message.ts';
import type { NamedKey } from './wrapped-key.ts';

const MAGIC = utf8('wispr-roaming/1\n');
export const ROAMING_SALT_LENGTH = 16;
const ID_LENGTH = 16;
const HEAD_LENGTH = MAGIC.length + ROAMING_SALT_LENGTH;
/** Size that most readers share. */
const LEAST_MESSAGE = CHUNK_LENGTH;
const MAXIMUM_BINDINGS = 256;
const MAXIMUM_SITES = 16;

/** Cost of Argon2id: KiB, lanes, passes. Version 1 knows no other, so a file cannot ask for more, nor for less. */
export const ROAMING_COST = { memory: 262_144, parallelism: 1, passes: 3 } as const;

export interface RoamingBinding {
  /** Time at which the device key was made: seconds since 1970. */
  readonly bound: number;
  readonly descriptor: VerifiedDescriptor;
  readonly descriptorBytes: Uint8Array;
  readonly deviceKey: NamedKey;
  /** The first root of the publisher, byte for byte. */
  readonly firstRoot: Uint8Array;
  /** Sites that the reader confirmed. */
  readonly sites: readonly string[];
}

export interface RoamingIdentity {
  /** Id of the line of files that follow one another: base64url of 16 random bytes. */
  readonly id: string;
  /** Number of the file in its line, from 1. */
  readonly number: number;
  /** Seconds since 1970. */
  readonly written: number;
  readonly seed: Uint8Array;
  readonly bindings: readonly RoamingBinding[];
}

/**
 * @param stretched - what Argon2id makes of the words and `salt`
 * @throws KeyError `roaming-malformed` if it would be longer than a reader takes
 */
export async function encodeRoaming(
  identity: RoamingIdentity,
  stretched: Uint8Array,
  salt: Uint8Array,
): Promise<Uint8Array> {
  const message = padMessage(canonicalJson(toJson(identity)), LEAST_MESSAGE);
  const context = contextOf(salt);
  const payload = await sealMessage(await hkdfExpand(stretched, context, KEY_LENGTH), context, message);
  const file = concat(MAGIC, salt, payload);
  if (file.length > MESSAGE_LIMITS.roaming || identity.bindings.length > MAXIMUM_BINDINGS)
    throw malformed('there are too many bindings for one');
  return file;
}

/**
 * Steps R1 to R3, before Argon2id takes memory for it.
 *
 * @returns the salt
 * @throws KeyError `roaming-malformed`
 */
export function readRoamingSalt(file: Uint8Array): Uint8Array {
  if (file.length > MESSAGE_LIMITS.roaming) throw malformed('it is too long'); // R1
  if (!equalBytes(file.subarray(0, MAGIC.length), MAGIC)) throw malformed('it is no roaming file of version 1'); // R2
  if (!isSealedPadded(file.length - HEAD_LENGTH, LEAST_MESSAGE)) throw malformed('it has a length that none has'); // R3
  return file.subarray(MAGIC.length, HEAD_LENGTH);
}

/**
 * Steps R4 to R6. The caller has done those before with {@link readRoamingSalt}.
 *
 * @param stretched - what Argon2id makes of the words and the file's salt
 * @throws KeyError `roaming-malformed`, `roaming-unreadable`
 */
export async function openRoaming(file: Uint8Array, stretched: Uint8Array): Promise<RoamingIdentity> {
  const context = contextOf(readRoamingSalt(file));
  const key = await hkdfExpand(stretched, context, KEY_LENGTH);
  const message = await openMessage(key, context, file.subarray(HEAD_LENGTH));
  if (message === undefined) throw new KeyError('roaming-unreadable', 'these words do not open the roaming file'); // R4
  const json = unpadMessage(message, LEAST_MESSAGE);
  const parsed = json && parseMessage(json, MESSAGE_LIMITS.roaming);
  if (parsed === undefined) throw malformed('what is in it is not padded canonical JSON'); // R5
  return fromJson(parsed);
}

function contextOf(salt: Uint8Array): Uint8Array {
  return lengthPrefixed(utf8('wispr/1 roaming file'), salt);
}

function toJson({ bindings, id, number, seed, written }: RoamingIdentity): JsonObject {
  return {
    bindings: bindings.map(({ bound, descriptorBytes, deviceKey, firstRoot, sites }) => ({
      bound,
      descriptor: toBase64url(descriptorBytes),
      deviceKey: toBase64url(deviceKey.key),
      root: toBase64url(firstRoot),
      sites: [...sites],
    })),
    id,
    number,
    seed: toBase64url(seed),
    written,
  };
}

/** Step R6: the words were right, and yet what is inside is judged like everything else. */
async function fromJson(message: JsonObject): Promise<RoamingIdentity> {
  const { bindings, id, number, seed: seedText, written } = message;
  const seed = fromBase64url(seedText, KEY_LENGTH);
  const isForm =
    hasMembers(message, ['bindings', 'id', 'number', 'seed', 'written']) &&
    fromBase64url(id, ID_LENGTH) !== undefined &&
    typeof written === 'number';
  if (!isForm || !seed || typeof number !== 'number' || number < 1) throw malformed('a member');
  if (!Array.isArray(bindings) || bindings.length > MAXIMUM_BINDINGS) throw malformed('its bindings');
  const read = await Promise.all(bindings.map(readBinding));
  const sites = read.flatMap((binding) => binding.sites);
  const providers = read.map(({ descriptor }) => `${descriptor.keyServer} ${descriptor.publisher}`);
  if (new Set(sites).size !== sites.length || new Set(providers).size !== providers.length)
    throw malformed('a site or a publisher stands in it twice');
  return { id: id as string, number, written, seed, bindings: read };
}

async function readBinding(value: Json): Promise<RoamingBinding> {
  if (!isJsonObject(value) || !hasMembers(value, ['bound', 'descriptor', 'deviceKey', 'root', 'sites']))
    throw malformed('a binding');
  const { bound, sites } = value;
  const [descriptorBytes, key, firstRoot] = [
    fromBase64url(value.descriptor),
    fromBase64url(value.deviceKey, KEY_LENGTH),
    fromBase64url(value.root),
  ];
  if (typeof bound !== 'number' || !descriptorBytes || !key || !firstRoot) throw malformed('a member of a binding');
  if (!Array.isArray(sites) || sites.length > MAXIMUM_SITES || !sites.every(isSite))
    throw malformed('the sites of a binding');
  const descriptor = await verifyDescriptor(descriptorBytes, 0); // its expiry is looked at when it is used
  if (toBase64url(await sha256(firstRoot)) !== descriptor.publisher) throw malformed('a root is not the named one');
  const deviceKey = { id: await keyIdOf('device', key), key };
  return { bound, descriptor, descriptorBytes, deviceKey, firstRoot, sites: sites as string[] };
}

function malformed(what: string): KeyError {
  return new KeyError('roaming-malformed', `this is no sound roaming file: ${what}`);
}
