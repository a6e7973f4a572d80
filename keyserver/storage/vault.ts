/**
 * Encrypts the secrets in the database under the master key. Each sealed value says which row and which key it is, so that a value
 * moved to another row does not open.
 *
 *   master key version: u32 || nonce (12) || AES-256-GCM ciphertext || tag (16)
 *   key  = HKDF-Expand(master key, "wispr/1 rows"); of version 0, which no row has: HKDF-Expand(oldest master key, "wispr/1 decoys")
 *   AAD  = lp("wispr/1 row") || u32(version) || lp(table) || lp(row id) || lp(key id)
 */
import { aes256GcmOpen, aes256GcmSeal, hmacSha256, randomBytes } from '#primitives';
import { concat, lengthPrefixed, readU32, u32, utf8 } from '../../core/encoding/bytes.ts';
import { hkdfExpand } from '../../core/keys/hkdf.ts';
import { KeyServerError } from '../errors.ts';
import type { MasterKeys } from './master-key.ts';

const NONCE_LENGTH = 12;
const MINIMUM_LENGTH = 4 + NONCE_LENGTH + 16;
const DECOY_VERSION = 0;
/** As long as the place of a device. */
const DECOY_PLACE: Place = { table: 'devices', row: '-'.repeat(43), keyId: '-'.repeat(43) };

/** Where a sealed value belongs. */
export interface Place {
  readonly table: string;
  readonly row: string;
  /** Key id of the key inside, or what stands for it. */
  readonly keyId: string;
}

/** A sealed value, and where it belongs. */
export interface Sealed {
  readonly place: Place;
  readonly sealed: Uint8Array;
}

export class Vault {
  /** By version; the decoys' among them. */
  readonly #rowKeys: ReadonlyMap<number, Uint8Array>;
  readonly #current: number;
  readonly #macKey: Uint8Array;
  readonly #decoy: Sealed;
  readonly #channelSeed: Uint8Array;

  private constructor(
    rowKeys: ReadonlyMap<number, Uint8Array>,
    macKey: Uint8Array,
    decoy: Sealed,
    channelSeed: Uint8Array,
  ) {
    this.#rowKeys = rowKeys;
    this.#current = Math.max(...rowKeys.keys());
    this.#macKey = macKey;
    this.#decoy = decoy;
    this.#channelSeed = channelSeed;
  }

  static async create(masterKeys: MasterKeys): Promise<Vault> {
    const rowKeys = new Map<number, Uint8Array>();
    for (const [version, key] of masterKeys) rowKeys.set(version, await deriveKey(key, 'wispr/1 rows'));
    const oldest = masterKeys.get(Math.min(...masterKeys.keys())) ?? new Uint8Array(32);
    const decoyKey = await deriveKey(oldest, 'wispr/1 decoys');
    rowKeys.set(DECOY_VERSION, decoyKey);
    const sealed = await seal(decoyKey, DECOY_VERSION, DECOY_PLACE, randomBytes(32));
    const macKey = await deriveKey(oldest, 'wispr/1 known browsers');
    const channelSeed = await deriveKey(oldest, 'wispr/1 httpcrypt channel key');
    return new Vault(rowKeys, macKey, { place: DECOY_PLACE, sealed }, channelSeed);
  }

  /** Encrypts `secret` for one place in the database. */
  seal(place: Place, secret: Uint8Array): Promise<Uint8Array> {
    return seal(this.#rowKey(this.#current), this.#current, place, secret);
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

  /**
   * Stands in for the row of a device that there is not: it opens at the same cost, to a key that no device holds. It is made once, under a
   * key of its own, so that requests of outsiders use up no nonces of the key of the rows.
   */
  get decoy(): Sealed {
    return this.#decoy;
  }

  /** HMAC-SHA-256 under a key of its own, by which something that was given out is known again. */
  macOf(message: Uint8Array): Promise<Uint8Array> {
    return hmacSha256(this.#macKey, message);
  }

  /** Seed of the Ed25519 key pair that signs the server keys of HTTPCrypt. It stays when a master key is added. */
  get channelSeed(): Uint8Array {
    return this.#channelSeed;
  }

  #rowKey(version: number): Uint8Array {
    const key = this.#rowKeys.get(version);
    if (key === undefined) throw new RangeError('no such version of the master key');
    return key;
  }
}

async function seal(key: Uint8Array, version: number, place: Place, secret: Uint8Array): Promise<Uint8Array> {
  const nonce = randomBytes(NONCE_LENGTH);
  return concat(u32(version), nonce, await aes256GcmSeal(key, nonce, secret, additionalData(version, place)));
}

function additionalData(version: number, { table, row, keyId }: Place): Uint8Array {
  return concat(lengthPrefixed(utf8('wispr/1 row')), u32(version), lengthPrefixed(utf8(table), utf8(row), utf8(keyId)));
}

function deriveKey(masterKey: Uint8Array, label: string): Promise<Uint8Array> {
  return hkdfExpand(masterKey, lengthPrefixed(utf8(label)), 32);
}
