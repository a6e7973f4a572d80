/**
 * Encrypts the secrets in the database under the master key. Each sealed value says which row and which key it is, so that a value
 * moved to another row does not open.
 *
 *   master key version: u32 || nonce (12) || AES-256-GCM ciphertext || tag (16)
 *   key  = HKDF-Expand(master key, "wispr/1 rows")
 *   AAD  = lp("wispr/1 row") || u32(version) || lp(table) || lp(row id) || lp(key id)
 */
import { aes256GcmOpen, aes256GcmSeal, hmacSha256, randomBytes } from '#primitives';
import { concat, lengthPrefixed, readU32, u32, utf8 } from '../../core/encoding/bytes.ts';
import { hkdfExpand } from '../../core/keys/hkdf.ts';
import { KeyServerError } from '../errors.ts';
import type { MasterKeys } from './master-key.ts';

const NONCE_LENGTH = 12;
const MINIMUM_LENGTH = 4 + NONCE_LENGTH + 16;

/** Where a sealed value belongs. */
export interface Place {
  readonly table: string;
  readonly row: string;
  /** Key id of the key inside, or what stands for it. */
  readonly keyId: string;
}

export class Vault {
  readonly #rowKeys: ReadonlyMap<number, Uint8Array>;
  readonly #current: number;
  readonly #decoySeed: Uint8Array;

  private constructor(rowKeys: ReadonlyMap<number, Uint8Array>, decoySeed: Uint8Array) {
    this.#rowKeys = rowKeys;
    this.#current = Math.max(...rowKeys.keys());
    this.#decoySeed = decoySeed;
  }

  static async create(masterKeys: MasterKeys): Promise<Vault> {
    const derived = [...masterKeys].map(
      async ([version, key]) => [version, await deriveKey(key, 'wispr/1 rows')] as const,
    );
    const rowKeys = new Map(await Promise.all(derived));
    const oldest = masterKeys.get(Math.min(...masterKeys.keys())) ?? new Uint8Array(32);
    return new Vault(rowKeys, await deriveKey(oldest, 'wispr/1 decoys'));
  }

  /** Encrypts `secret` for one place in the database. */
  async seal(place: Place, secret: Uint8Array): Promise<Uint8Array> {
    const nonce = randomBytes(NONCE_LENGTH);
    const sealed = await aes256GcmSeal(
      this.#rowKey(this.#current),
      nonce,
      secret,
      additionalData(this.#current, place),
    );
    return concat(u32(this.#current), nonce, sealed);
  }

  /**
   * Decrypts what {@link seal} made for this place.
   *
   * @throws KeyServerError `store-unusable`: another master key, another place, or altered
   */
  async open(place: Place, sealed: Uint8Array): Promise<Uint8Array> {
    const secret = await this.tryOpen(place, sealed);
    if (secret === undefined) {
      throw new KeyServerError(
        'store-unusable',
        `a row of the table ${place.table} does not decrypt: altered, or moved from another row`,
      );
    }
    return secret;
  }

  /** Like {@link open}; `undefined` where that throws. */
  async tryOpen(place: Place, sealed: Uint8Array): Promise<Uint8Array | undefined> {
    if (sealed.length < MINIMUM_LENGTH) return undefined;
    const version = readU32(sealed);
    const key = this.#rowKeys.get(version);
    const nonce = sealed.subarray(4, 4 + NONCE_LENGTH);
    return key && aes256GcmOpen(key, nonce, sealed.subarray(4 + NONCE_LENGTH), additionalData(version, place));
  }

  /** A key that no device holds, always the same for the same name: the stand-in for an unknown device. */
  decoyKey(name: string): Promise<Uint8Array> {
    return hmacSha256(this.#decoySeed, utf8(name));
  }

  #rowKey(version: number): Uint8Array {
    const key = this.#rowKeys.get(version);
    if (key === undefined) throw new RangeError('no such version of the master key');
    return key;
  }
}

function additionalData(version: number, { table, row, keyId }: Place): Uint8Array {
  return concat(lengthPrefixed(utf8('wispr/1 row')), u32(version), lengthPrefixed(utf8(table), utf8(row), utf8(keyId)));
}

function deriveKey(masterKey: Uint8Array, label: string): Promise<Uint8Array> {
  return hkdfExpand(masterKey, lengthPrefixed(utf8(label)), 32);
}
