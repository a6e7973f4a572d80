/**
 * The trusted metadata in the store of this origin, to which published scripts can write. Metadata are taken only if the root id, which is part
 * of this program, leads to their signatures: the whole chain of roots is kept, and verified from the first one each time.
 */
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { toHex } from '../../core/encoding/hex.ts';
import type { MetadataStore } from '../../core/publication/client.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { verifyFirstRoot, verifyNextRoot } from '../../core/publication/verify-roles.ts';
import type { OriginStore } from '../store.ts';

const STRICT = { strict: true, verify: verifyEd25519 } as const;

/** @param rootId - base64url of SHA-256 of the first root */
export function metadataIn({ state }: OriginStore, rootId: string): MetadataStore {
  const nameOf = (name: string) => `publication ${name}`;
  const first = toHex(fromBase64url(rootId) ?? new Uint8Array());
  const isRoot = (name: string) => name === `${rootId} root`;
  const chain = async (name: string): Promise<readonly Uint8Array[]> => {
    const kept = await state.get(nameOf(name));
    const isChain = Array.isArray(kept) && kept.length <= PUBLICATION_LIMITS.rootRotations;
    return isChain && kept.every((bytes) => bytes instanceof Uint8Array) ? kept : [];
  };
  return {
    read: async (name) => {
      if (isRoot(name)) return lastOf(await chain(name), first);
      const kept = await state.get(nameOf(name));
      return kept instanceof Uint8Array ? kept : undefined;
    },
    write: async (name, bytes) => {
      const own = bytes.slice(); // copied, or all of the memory around it would be kept
      if (!isRoot(name)) return state.put(nameOf(name), own);
      const before = (await hexDigest(own)) === first ? [] : await chain(name);
      await state.put(nameOf(name), [...before, own]);
    },
  };
}

/** The last root of a chain; `undefined` where it does not lead there from the first one. */
async function lastOf(chain: readonly Uint8Array[], first: string): Promise<Uint8Array | undefined> {
  const [begin, ...rest] = chain;
  if (begin === undefined || (await hexDigest(begin)) !== first) return undefined;
  try {
    let root = await verifyFirstRoot(begin, STRICT);
    for (const bytes of rest) root = await verifyNextRoot(bytes, root, STRICT);
    return chain.at(-1);
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}
