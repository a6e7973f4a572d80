/** Key files: docs/spec/web-reader.md, "Key files". */
import { sealChunks } from '#primitives';
import { beginMessage } from '../../../core/crypto/chunked-encryption.ts';
import { hkdfExpand, hkdfExtract } from '../../../core/crypto/hkdf.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, u32, utf8 } from '../../../core/encoding/bytes.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../core/encoding/canonical-json.ts';
import { argon2id } from '../../../node-support/argon2id.ts';
import { type KeyVector, toBase64 } from '../format.ts';
import { NOW, otherRootId, otherSetKey, rootId, SITE, saltOf, secret, setKey } from './fixed.ts';
import { flipBit } from './forge.ts';

const MAGIC = 'wispr-keyfile/1\n';
const MESSAGE_LENGTH = 4096;
/** Argon2id as the spec has it: KiB, lanes, passes. */
const COST = { memory: 65_536, parallelism: 1, passes: 3 };
const PASSWORD = 'the tide waits for no one';

const given = (await secret('invitation')).subarray(0, 16);
const salt = (await secret('salt of the password')).subarray(0, 16);
const fromPassword = await argon2id(PASSWORD, COST, salt);

const VALIDITY = { notAfter: NOW + 1000, notBefore: NOW - 1000 };
const KEYS = [setKey, otherSetKey].map(({ id, key }) => ({ id, key: toBase64url(key), ...VALIDITY }));
const MESSAGE = { keys: KEYS, refused: [], time: NOW };

async function derive(from: Uint8Array, label: string, length: number): Promise<Uint8Array> {
  return hkdfExpand(await hkdfExtract(utf8('wispr/1 invitation'), from), contextOf(label), length);
}

function contextOf(label: string): Uint8Array {
  return lengthPrefixed(utf8(label), utf8(rootId), utf8(SITE));
}

async function seal(name: string, message: Uint8Array, from = given): Promise<Uint8Array> {
  const key = await derive(from, 'wispr/1 key file key', 32);
  const { keys, prefix } = await beginMessage(key, contextOf('wispr/1 key file'), await saltOf(name));
  return concat(utf8(MAGIC), prefix, await sealChunks(keys, 0, message, true));
}

/** Behind its length, and with zeros up to the least length. */
function padded(json: Uint8Array): Uint8Array {
  return concat(u32(json.length), json, new Uint8Array(MESSAGE_LENGTH - 4 - json.length));
}

function open(name: string, outcome: string, file: Uint8Array, changes: Record<string, string> = {}): KeyVector {
  return {
    name: `key file, ${name}`,
    operation: 'open-key-file',
    input: { file: toBase64(file), root: rootId, secret: toBase64(given), site: SITE, ...changes },
    outcome,
  };
}

export async function keyFileVectors(): Promise<KeyVector[]> {
  const good = await seal('key file', padded(canonicalJson(MESSAGE)));
  const shared = await seal('key file of a password', padded(canonicalJson(MESSAGE)), fromPassword);
  const resultFor = async (from: Uint8Array) => {
    return { keys: KEYS.map(({ id }) => id), name: toBase64url(await derive(from, 'wispr/1 key file name', 16)) };
  };
  const refuse = (name: string, file: Uint8Array, changes?: Record<string, string>) =>
    open(name, 'key-file-malformed', file, changes);
  const holding = async (name: string, changes: Record<string, Json>) =>
    refuse(name, await seal(name, padded(canonicalJson({ ...MESSAGE, ...changes } as JsonObject))));
  const password = { password: PASSWORD, salt: toBase64(salt), secret: toBase64(fromPassword) };
  return [
    { ...open('good', 'success', good), result: await resultFor(given) },
    { ...open('of a password', 'success', shared, password), result: await resultFor(fromPassword) },
    refuse('empty', new Uint8Array(0)),
    refuse('of version 2', concat(utf8('wispr-keyfile/2\n'), good.subarray(MAGIC.length))),
    refuse('cut', good.subarray(0, good.length - 1)),
    refuse('its last bit flipped', flipBit(good, good.length - 1)),
    refuse('of another invitation', good, { secret: toBase64((await secret('another')).subarray(0, 16)) }),
    refuse('of another site', good, { site: 'other.example' }),
    refuse('of another publisher', good, { root: otherRootId }),
    refuse(
      'padding that is not zeros',
      await seal('padding of a key file', flipBit(padded(canonicalJson(MESSAGE)), MESSAGE_LENGTH - 1)),
    ),
    await holding('a key under the id of another', { keys: [{ ...KEYS[0], key: KEYS[1]?.key ?? '' }] as Json }),
  ];
}
