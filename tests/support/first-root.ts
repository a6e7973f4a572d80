/** A publication's roots and timestamps, really signed: all that bindings and key servers look at of a publication. */
import type { KeyId } from '../../core/keys/key-id.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import type { TopLevelRole } from '../../core/publication/metadata.ts';
import { ROLE_VALIDITY, rootMetadata, signMetadata, timestampMetadata } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';

export type RoleSigners = Readonly<Record<TopLevelRole, RoleSigner>>;

export interface FirstRoot {
  /** `1.root.json` */
  readonly bytes: Uint8Array;
  /** The publisher's identity. */
  readonly id: KeyId;
  readonly signers: RoleSigners;
  /** The seed of the timestamp role, as a key bundle carries it. */
  readonly timestampSeed: Uint8Array;
}

/** A root of one key a role, signed by `by`. */
export async function encodeRoot(
  signers: RoleSigners,
  version: number,
  by: readonly RoleSigner[],
  expires = nowInSeconds() + ROLE_VALIDITY.root,
): Promise<Uint8Array> {
  const role = ({ publicKey }: RoleSigner) => ({ publicKeys: [publicKey], threshold: 1 });
  const { root, targets, snapshot, timestamp } = signers;
  const roles = { root: role(root), targets: role(targets), snapshot: role(snapshot), timestamp: role(timestamp) };
  return signMetadata(await rootMetadata({ version, expires }, roles), by);
}

export interface TimestampWish {
  /** Of the publication. */
  readonly publication?: number;
  /** Of the timestamp: when it was signed, in seconds since 1970. */
  readonly signed?: number;
  readonly expires?: number;
  readonly withdrawn?: readonly number[];
  /** Whether it names no publication that there is, but one of its number. */
  readonly isMadeUp?: boolean;
}

/** `timestamp.json` as a publisher makes it. */
export function encodeTimestamp(signer: RoleSigner, wish: TimestampWish = {}): Uint8Array {
  const { publication = 1, signed = nowInSeconds(), withdrawn = [], isMadeUp = false } = wish;
  const { expires = signed + ROLE_VALIDITY.timestamp } = wish;
  const snapshot = {
    version: publication,
    length: 1000 + publication,
    sha256: String(publication).padStart(64, isMadeUp ? 'f' : '0'),
  };
  return signMetadata(timestampMetadata({ version: signed, expires }, snapshot, withdrawn), [signer]);
}
