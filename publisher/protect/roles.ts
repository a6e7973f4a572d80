/** The roles of a publication, and the keys that sign for them: docs/spec/publication.md, section 2. */
import { fromHex } from '../../core/encoding/hex.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { parseRoot } from '../../core/publication/metadata.ts';
import type { RolePublicKeys } from '../../core/publication/writer.ts';
import type { OpenKeyStore } from '../keys/key-store.ts';

/** Who signs a publication. */
export interface PublicationRoles {
  /** `1.root.json` and its successors, in their order. */
  readonly roots: readonly Uint8Array[];
  /** The publisher's identity. */
  readonly rootId: string;
  /** When the last root expires, in seconds since 1970. */
  readonly rootExpires: number;
  /** Sign `targets`, `documents` and the bins; as many as have to. */
  readonly targets: readonly RoleSigner[];
  /** Every key that may do so: `documents` and the bins are delegated to the same keys. */
  readonly targetsKeys: RolePublicKeys;
  readonly snapshot: RoleSigner;
  readonly timestamp: RoleSigner;
}

/** @param others - keys that are here apart from the key store */
export function rolesOf(
  { roots, rootId, signers }: OpenKeyStore,
  others: readonly RoleSigner[] = [],
): PublicationRoles {
  const { roles, keys, expires } = parseRoot(openEnvelope(roots.at(-1) ?? new Uint8Array(0), 'root').signed());
  const { keyids, threshold } = roles.targets;
  const publicKeys = keyids.flatMap((keyid) => fromHex(keys.get(keyid)?.public, 32) ?? []);
  const may = others.filter(({ keyid }) => keyids.includes(keyid) && keyid !== signers.targets.keyid);
  const targets = [signers.targets, ...may];
  return { roots, rootId, rootExpires: expires, ...signers, targets, targetsKeys: { publicKeys, threshold } };
}
