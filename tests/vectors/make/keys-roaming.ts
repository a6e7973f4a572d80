/** Roaming files: docs/spec/roaming.md. */
import { sealChunks } from '#primitives';
import { beginMessage } from '../../../core/crypto/chunked-encryption.ts';
import { hkdfExpand } from '../../../core/crypto/hkdf.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, u32, utf8 } from '../../../core/encoding/bytes.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../core/encoding/canonical-json.ts';
import { argon2id } from '../../../node-support/argon2id.ts';
import { type KeyVector, toBase64 } from '../format.ts';
import { firstRoot, NOW, namedKey, SITE, saltOf, secret } from './fixed.ts';
import { flipBit } from './forge.ts';
import { descriptor, KEY_SERVER } from './keys-descriptor.ts';

const MAGIC = 'wispr-roaming/1\n';
/** Argon2id as the spec has it: KiB, lanes, passes. */
const COST = { memory: 262_144, parallelism: 1, passes: 3 };
const WORDS = 'abacus zoom drop-down enjoyably t-shirt yo-yo outskirts';
const MESSAGE_LENGTH = 16_384;

const salt = (await secret('salt of the words')).subarray(0, 16);
const stretched = await argon2id(WORDS, COST, salt);
const deviceKey = await namedKey('device', 'taken along');

const BINDING = {
  bound: NOW - 1000,
  descriptor: toBase64url(descriptor),
  deviceKey: toBase64url(deviceKey.key),
  root: toBase64url(firstRoot),
  sites: [SITE],
};
const IDENTITY = {
  bindings: [BINDING],
  id: toBase64url((await secret('line of roaming files')).subarray(0, 16)),
  number: 3,
  seed: toBase64url(await secret('device seed')),
  written: NOW,
};
const RESULT = { id: IDENTITY.id, keyServers: [KEY_SERVER], number: 3, sites: [SITE], written: NOW };

async function seal(name: string, message: Uint8Array): Promise<Uint8Array> {
  const context = lengthPrefixed(utf8('wispr/1 roaming file'), salt);
  const { keys, prefix } = await beginMessage(await hkdfExpand(stretched, context, 32), context, await saltOf(name));
  return concat(utf8(MAGIC), salt, prefix, await sealChunks(keys, 0, message, true));
}

/** Behind its length, and with zeros up to the least length. */
function padded(json: Uint8Array, length = MESSAGE_LENGTH): Uint8Array {
  return concat(u32(json.length), json, new Uint8Array(length - 4 - json.length));
}

function open(name: string, outcome: string, file: Uint8Array, changes: Record<string, string> = {}): KeyVector {
  return {
    name: `roaming file, ${name}`,
    operation: 'open-roaming',
    input: { file: toBase64(file), stretched: toBase64(stretched), ...changes },
    outcome,
  };
}

export async function roamingVectors(): Promise<KeyVector[]> {
  const good = await seal('roaming', padded(canonicalJson(IDENTITY)));
  const holding = async (name: string, changes: Record<string, Json>) =>
    open(name, 'roaming-malformed', await seal(name, padded(canonicalJson({ ...IDENTITY, ...changes } as JsonObject))));
  return [
    { ...open('good', 'success', good, { words: WORDS }), result: RESULT },
    ...shapes(good),
    open('by other words', 'roaming-unreadable', good, { stretched: toBase64(await secret('other words')) }),
    open('its salt altered', 'roaming-unreadable', flipBit(good, MAGIC.length)),
    open('its last bit flipped', 'roaming-unreadable', flipBit(good, good.length - 1)),
    open(
      'padding that is not zeros',
      'roaming-malformed',
      await seal('padding', flipBit(padded(canonicalJson(IDENTITY)), MESSAGE_LENGTH - 1)),
    ),
    open(
      'length beyond the end',
      'roaming-malformed',
      await seal('length', concat(u32(2 ** 32 - 1), padded(canonicalJson(IDENTITY)).subarray(4))),
    ),
    await holding('number 0', { number: 0 }),
    await holding('a site twice', { bindings: [{ ...BINDING, sites: [SITE, SITE] }] }),
    await holding('a root that the descriptor does not name', {
      bindings: [{ ...BINDING, root: toBase64url(utf8('another root')) }],
    }),
  ];
}

/** What is refused before Argon2id is computed. */
function shapes(good: Uint8Array): KeyVector[] {
  return [
    open('empty', 'roaming-malformed', new Uint8Array(0)),
    open('only its magic', 'roaming-malformed', utf8(MAGIC)),
    open('of version 2', 'roaming-malformed', concat(utf8('wispr-roaming/2\n'), good.subarray(MAGIC.length, 200))),
    open('cut', 'roaming-malformed', good.subarray(0, 1000)),
    open('of a length that no padding gives', 'roaming-malformed', concat(good.subarray(0, 88), new Uint8Array(116))),
  ];
}
