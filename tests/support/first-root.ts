/** A publication's roots, really signed. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import type { TopLevelRole } from '../../core/publication/metadata.ts';
import { ROLE_VALIDITY, rootMetadata, signMetadata } from '../../core/publication/writer.ts';
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
