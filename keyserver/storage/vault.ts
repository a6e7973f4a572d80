/**
 * Encrypts the secrets in the database under the master key: under the version that the canary has, so that all processes change to a newer
 * one at the same moment (keyserver/operations/rotate-master-key.ts). A version that is not known here has been added since: the keys are read again.
 * Each sealed value says which row and which key it is, so that a value moved to another row does not open.
 *
 *   master key version: u32 || nonce (12) || AES-256-GCM ciphertext || tag (16)
 *   key  = HKDF-Expand(master key, "wispr/1 rows"); of version 0, which no row has: random, of this process
 *   AAD  = lp("wispr/1 row") || u32(version) || lp(table) || lp(row id) || lp(key id)
 */
import { aes256GcmOpen, aes256GcmSeal, randomBytes } from '#primitives';
import { hkdfExpand } from '../../core/crypto/hkdf.ts';
import { concat, lengthPrefixed, readU32, u32, utf8 } from '../../core/encoding/bytes.ts';
import { KeyServerError } from '../errors.ts';
import type { MasterKeys } from './master-key.ts';

const NONCE_LENGTH = 12;
const MINIMUM_LENGTH = 4 + NONCE_LENGTH + 16;
const DECOY_VERSION = 0;
const ROW_KEY = lengthPrefixed(utf8('wispr/1 rows'));
/** Reference as long as that to a device. */
const DECOY_ROW: RowRef = { table: 'devices', row: '-'.repeat(43), keyId: '-'.repeat(43) };

/** Row that a sealed value belongs to. */
export interface RowRef {
  readonly table: string;
  readonly row: string;
  /** Key id of the key inside, or what stands for it. */
  readonly keyId: string;
}

/** A sealed value, and where it belongs. */
export interface Sealed {
  readonly ref: RowRef;
  readonly sealed: Uint8Array;
}

export class Vault {
  #rowKeys: ReadonlyMap<number, Uint8Array>;
  readonly #read: () => Promise<MasterKeys>;
  readonly #decoy: Sealed;
  #reading: Promise<void> | undefined;
  #currentVersion: () => Promise<number>;

  private constructor(rowKeys: ReadonlyMap<number, Uint8Array>, read: () => Promise<MasterKeys>, decoy: Sealed) {
    this.#rowKeys = rowKeys;
    this.#read = read;
    this.#decoy = decoy;
    this.#currentVersion = async () => this.newestVersion;
  }

  /** @param read - reads the master keys, now and when a newer version is met */
  static async create(read: () => Promise<MasterKeys>): Promise<Vault> {
    const decoyKey = randomBytes(32);
    const sealed = await seal(decoyKey, DECOY_VERSION, DECOY_ROW, randomBytes(32));
    const decoys = new Map([[DECOY_VERSION, decoyKey]]);
    const vault = new Vault(decoys, read, { ref: DECOY_ROW, sealed });
    await vault.readAgain();
    return vault;
  }

  /** The newest version that is known here. */
  get newestVersion(): number {
    return Math.max(...this.#rowKeys.keys());
  }

  /** Seals under the version that `current` says, from now on. */
  follow(current: () => Promise<number>): void {
    this.#currentVersion = current;
  }

  /** The version that {@link seal} takes if none is named: for a caller who seals many values at once, and asks once. */
  currentVersion(): Promise<number> {
    return this.#currentVersion();
  }

  /** Reads the master keys again. @throws KeyServerError `storage-key-refused`; the keys stay as they were then */
  readAgain(): Promise<void> {
    this.#reading ??= this.#readKeys().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /**
   * Encrypts `secret` for one row of the database.
   *
   * @param version - of the master key, if not the current one
   * @throws KeyServerError `storage-key-refused` where that version is not here
   */
  async seal(ref: RowRef, secret: Uint8Array, version?: number): Promise<Uint8Array> {
    const under = version ?? (await this.currentVersion());
    const key = await this.#rowKey(under);
    if (key) return seal(key, under, ref, secret);
    const problem = `the master key lacks version ${under}, which the database is under`;
    throw new KeyServerError('storage-key-refused', problem);
  }

  /** Decrypts what {@link seal} made for this row. @throws KeyServerError `store-unusable`: another master key, another row, or altered */
  async open(ref: RowRef, sealed: Uint8Array): Promise<Uint8Array> {
    const secret = await this.tryOpen(ref, sealed);
    if (secret !== undefined) return secret;
    const problem = `a row of the table ${ref.table} does not decrypt: altered, or moved from another row`;
    throw new KeyServerError('store-unusable', problem);
  }

  /** Decrypts as {@link open}; `undefined` where that throws. */
  async tryOpen(ref: RowRef, sealed: Uint8Array): Promise<Uint8Array | undefined> {
    if (sealed.length < MINIMUM_LENGTH) return undefined;
    const version = readU32(sealed);
    const key = await this.#rowKey(version);
    const nonce = sealed.subarray(4, 4 + NONCE_LENGTH);
    return key && aes256GcmOpen(key, nonce, sealed.subarray(4 + NONCE_LENGTH), additionalData(version, ref));
  }

  /**
   * Stands in for the row of a device that there is not: it opens at the same cost, to a key that no device holds. It is made once, under a
   * key of its own, so that requests of outsiders use up no nonces of the key of the rows.
   */
  get decoy(): Sealed {
    return this.#decoy;
  }

  async #readKeys(): Promise<void> {
    const rowKeys = new Map([[DECOY_VERSION, this.#rowKeys.get(DECOY_VERSION) ?? new Uint8Array(32)]]);
    for (const [version, key] of await this.#read()) rowKeys.set(version, await hkdfExpand(key, ROW_KEY, 32));
    this.#rowKeys = rowKeys;
  }

  async #rowKey(version: number): Promise<Uint8Array | undefined> {
    if (!this.#rowKeys.has(version)) await this.readAgain().catch(() => undefined);
    return this.#rowKeys.get(version);
  }
}

/** The version of the master key that a value is sealed under. */
export function versionOf(sealed: Uint8Array): number {
  return readU32(sealed);
}

async function seal(key: Uint8Array, version: number, ref: RowRef, secret: Uint8Array): Promise<Uint8Array> {
  const nonce = randomBytes(NONCE_LENGTH);
  return concat(u32(version), nonce, await aes256GcmSeal(key, nonce, secret, additionalData(version, ref)));
}

function additionalData(version: number, { table, row, keyId }: RowRef): Uint8Array {
  return concat(lengthPrefixed(utf8('wispr/1 row')), u32(version), lengthPrefixed(utf8(table), utf8(row), utf8(keyId)));
}
