/** A storage key out of a passphrase: Argon2id (RFC 9106), its parameters beside the salt in the database. */
import { argon2 } from 'node:crypto';
import { promisify } from 'node:util';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hasMembers, type JsonObject } from '../../core/encoding/canonical-json.ts';

const SALT_LENGTH = 16;
const KEY_LENGTH = 32;

/** RFC 9106 section 4, the second recommended option: well under a second on the machines of today. */
const CHOSEN = { memoryKiB: 65_536, parallelism: 4, passes: 3 } as const;

/** What is computed at all: anything else in a database is damage, or somebody's wish to stop this machine. */
const BOUNDS = { memoryKiB: [8_192, 1_048_576], parallelism: [1, 16], passes: [1, 16] } as const;

export interface PassphraseParameters {
  readonly memoryKiB: number;
  readonly parallelism: number;
  readonly passes: number;
  /** base64url of 16 random bytes. */
  readonly salt: string;
}

export function choosePassphraseParameters(salt: Uint8Array): PassphraseParameters {
  return { ...CHOSEN, salt: toBase64url(salt.subarray(0, SALT_LENGTH)) };
}

/** Whether parameters out of a database may be computed with. */
export function arePassphraseParameters(value: JsonObject): value is JsonObject & PassphraseParameters {
  if (!hasMembers(value, ['memoryKiB', 'parallelism', 'passes', 'salt'])) return false;
  const withinBounds = Object.entries(BOUNDS).every(([name, [least, most]]) => {
    const number = value[name];
    return typeof number === 'number' && number >= least && number <= most;
  });
  return withinBounds && fromBase64url(value.salt, SALT_LENGTH) !== undefined;
}

export async function keyFromPassphrase(passphrase: string, parameters: PassphraseParameters): Promise<Uint8Array> {
  return promisify(argon2)('argon2id', {
    message: utf8(passphrase.normalize('NFC')),
    nonce: fromBase64url(parameters.salt, SALT_LENGTH) as Uint8Array,
    memory: parameters.memoryKiB,
    parallelism: parameters.parallelism,
    passes: parameters.passes,
    tagLength: KEY_LENGTH,
  });
}
