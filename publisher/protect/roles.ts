/** Signers of the metadata of a publication. */
import type { RoleSigner } from '../../core/publication/keys.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import type { RolePublicKeys } from '../../core/publication/writer.ts';
import type { OpenKeyStore } from '../keys/key-store.ts';
import { rolesOf as rolesOfRoot, verifyChain } from '../keys/roots.ts';

export interface PublicationRoles extends Pick<OpenKeyStore, 'roots' | 'rootId'> {
  readonly root: RootMetadata;
  /** Signers of `targets`, `documents` and the bins; as many as have to sign. */
  readonly targets: readonly RoleSigner[];
  /** Keys that may do so: `documents` and the bins are delegated to the same keys. */
  readonly targetsKeys: RolePublicKeys;
  readonly snapshot: RoleSigner;
  readonly timestamp: RoleSigner;
}

/** @param others - keys that are here apart from the key store */
export async function rolesOf(
  { roots, rootId, signers }: OpenKeyStore,
  others: readonly RoleSigner[] = [],
): Promise<PublicationRoles> {
  const root = await verifyChain(roots);
  const { keyids } = root.roles.targets;
  const may = others.filter(({ keyid }) => keyids.includes(keyid) && keyid !== signers.targets.keyid);
  const targets = [signers.targets, ...may];
  return { roots, rootId, root, ...signers, targets, targetsKeys: rolesOfRoot(root).targets };
}
