/** Secrets at rest: AES-256-GCM, the place they belong to in the additional data, so that no row can stand in for another. */
import { aes256GcmOpen, aes256GcmSeal, randomBytes } from '#primitives';
import { concat, lengthPrefixed, utf8 } from '../../core/encoding/bytes.ts';
import { hkdfExpand } from '../../core/keys/hkdf.ts';

const NONCE_LENGTH = 12;

/** Table, column, and whatever names the row and must not be changed beside the secret. */
export type Place = readonly (string | number)[];

export class Sealing {
  readonly #key: Uint8Array;

  private constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** @param storeId - random, of one database: two databases under one storage key share no key */
  static async create(storageKey: Uint8Array, storeId: Uint8Array): Promise<Sealing> {
    return new Sealing(await hkdfExpand(storageKey, lengthPrefixed(utf8('wispr/1 reader store'), storeId), 32));
  }

  /** nonce (12) || ciphertext || tag (16). */
  async seal(secret: Uint8Array, place: Place): Promise<Uint8Array> {
    const nonce = randomBytes(NONCE_LENGTH);
    return concat(nonce, await aes256GcmSeal(this.#key, nonce, secret, additionalData(place)));
  }

  /** `undefined` if it was not sealed under this key, for this place. */
  async open(sealed: Uint8Array, place: Place): Promise<Uint8Array | undefined> {
    const [nonce, body] = [sealed.subarray(0, NONCE_LENGTH), sealed.subarray(NONCE_LENGTH)];
    return nonce.length === NONCE_LENGTH ? aes256GcmOpen(this.#key, nonce, body, additionalData(place)) : undefined;
  }
}

function additionalData(place: Place): Uint8Array {
  return lengthPrefixed(utf8('wispr/1 reader secret'), ...place.map((part) => utf8(String(part))));
}
