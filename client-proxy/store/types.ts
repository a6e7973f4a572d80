/** Rows of the reader's database, and options for opening it. */
import type { VerifiedDescriptor } from '../../core/keys/descriptor.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import type { Limits } from '../limits.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Gets a passphrase from the reader; `isNew` when it is being chosen, and then an empty one means none. */
export type Passphrase = (isNew: boolean) => Promise<string>;

export interface StorageKeyOptions {
  readonly keyFile: string;
  /** Tells whether a fresh database may have its key in the system's keyring. */
  readonly keyring?: boolean | undefined;
  /** Given by the reader: a fresh database is protected by it. */
  readonly passphrase?: Passphrase | undefined;
  /** Asks the reader, where a database needs a passphrase and none was given. */
  readonly askPassphrase?: Passphrase | undefined;
  readonly limits?: Limits | undefined;
}

export interface StoreOptions extends StorageKeyOptions {
  readonly directory: string;
  /** Begins locked where a person has to bring the key and cannot be asked, instead of failing. */
  readonly mayWait?: boolean | undefined;
}

/** Kind of proof that a host is the publisher's: it said so itself, over HTTPS; DNS alone said so; the reader did. */
export type HostProof = 'host' | 'dns' | 'trusted-by-hand';

export interface StoredSite {
  readonly site: string;
  /** Its name below `localhost`. */
  readonly label: string;
  readonly proof: HostProof;
}

export interface StoredBinding {
  readonly id: number;
  readonly descriptor: VerifiedDescriptor;
  readonly descriptorBytes: Uint8Array;
  /** Seconds since 1970. */
  readonly descriptorFetched: number;
  /** Time at which its device key was made: seconds since 1970. */
  readonly bound: number;
  readonly deviceKey: NamedKey;
  readonly sites: readonly StoredSite[];
}

export interface NewBinding {
  readonly descriptor: VerifiedDescriptor;
  readonly descriptorBytes: Uint8Array;
  /** Left out where the device stays bound with the key that it has. */
  readonly deviceKey: NamedKey | undefined;
  readonly sites: readonly StoredSite[];
  /** The publisher's first root, which its id was compared with. */
  readonly firstRoot: Uint8Array;
  /** Time at which the device key was made, where that is not now. */
  readonly bound?: number;
}

/** The newest roaming file of a line that this device has seen. */
export interface RoamingRecord {
  readonly id: string;
  readonly number: number;
  /** SHA-256 of the file. */
  readonly digest: Uint8Array;
  /** Seconds since 1970. */
  readonly written: number;
}

/** Key that opens the files of a line without the words. */
export interface RoamingKey {
  readonly salt: Uint8Array;
  readonly stretched: Uint8Array;
}
