/** The roles of a publication, and the keys that sign for them: docs/spec/publication.md, section 2. */
import { ed25519KeyPair, sha256 } from '#primitives';
import { concat, utf8 } from '../../core/encoding/bytes.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import { rootIdOf, rootMetadata, signMetadata } from '../../core/publication/writer.ts';
import type { OpenKeyStore } from '../keys/key-store.ts';

/** Who signs a publication. */
export interface PublicationRoles {
  /** `1.root.json` and its successors, in their order. */
  readonly roots: readonly Uint8Array[];
  /** The publisher's identity. */
  readonly rootId: string;
  /** When the last root expires, in seconds since 1970. */
  readonly rootExpires: number;
  /** Signs `targets`, `documents` and the bins. */
  readonly targets: RoleSigner;
  readonly snapshot: RoleSigner;
  readonly timestamp: RoleSigner;
}

/** INTERIM, until the key store holds seeds of its own and the chain of roots: everything out of the publisher's seed. */
export async function rolesOf({ contents }: OpenKeyStore): Promise<PublicationRoles> {
  const signer = async (role: string) =>
    roleSigner(ed25519KeyPair(await sha256(concat(utf8(`interim ${role} `), contents.publisherSeed))));
  const [root, targets, snapshot, timestamp] = [
    await signer('root'),
    await signer('targets'),
    await signer('snapshot'),
    await signer('timestamp'),
  ];
  const role = ({ publicKey }: RoleSigner) => ({ publicKeys: [publicKey], threshold: 1 });
  const rootExpires = 4_000_000_000;
  const signed = await rootMetadata(
    { version: 1, expires: rootExpires },
    { root: role(root), targets: role(targets), snapshot: role(snapshot), timestamp: role(timestamp) },
  );
  const roots = [signMetadata(signed, [root])];
  const [first = new Uint8Array(0)] = roots;
  return { roots, rootId: await rootIdOf(first), rootExpires, targets, snapshot, timestamp };
}
