/** Writing the identity into a roaming file: docs/spec/roaming.md. */
import { randomBytes, sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import {
  encodeRoaming,
  ROAMING_COST,
  ROAMING_SALT_LENGTH,
  type RoamingBinding,
  type RoamingIdentity,
} from '../../core/keys/roaming.ts';
import { argon2id } from '../../node-support/argon2id.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { ReaderStore } from '../store/store.ts';
import type { RoamingKey, StoredBinding } from '../store/types.ts';
import { drawWords } from './words.ts';

export interface Departure {
  readonly file: Uint8Array;
  readonly number: number;
  /** Words, where they are new: they cannot be looked up later. */
  readonly words: string | undefined;
  readonly sites: readonly string[];
  /** To be called once the file is sure to be there, and before it is visible. */
  readonly remember: () => Promise<void>;
}

/** Packs the identity: under its previous words, or under new ones. @throws ReaderError of the store */
export async function packIdentity(store: ReaderStore, newWords: boolean): Promise<Departure> {
  const identity = store.identity();
  const own = await identity.openOwnRoaming();
  const words = own === undefined || newWords ? drawWords() : undefined;
  const key = words === undefined ? own?.key : await stretch(words, randomBytes(ROAMING_SALT_LENGTH));
  if (key === undefined) throw new TypeError('there are words or a key');
  const { id = toBase64url(randomBytes(16)), number = 0 } = own ?? {};
  const [seed, bindings] = await Promise.all([store.deviceSeed(), store.bindings()]);
  const packed: RoamingIdentity = {
    id,
    number: number + 1,
    written: nowInSeconds(),
    seed,
    bindings: bindings.flatMap((binding) => packBinding(store, binding)),
  };
  const file = await encodeRoaming(packed, key.stretched, key.salt);
  const seen = { ...packed, digest: await sha256(file) };
  const sites = packed.bindings.flatMap((binding) => binding.sites);
  return { file, number: packed.number, words, sites, remember: () => identity.saveOwnRoaming(seen, key) };
}

/** A binding without a site cannot be read with, and one without its first root cannot be checked. */
function packBinding(store: ReaderStore, { sites, ...binding }: StoredBinding): RoamingBinding[] {
  const [first] = sites;
  const firstRoot = first && store.publicationOf(first.site).firstRoot();
  return firstRoot ? [{ ...binding, firstRoot, sites: sites.map(({ site }) => site) }] : [];
}

/** Derives the key of a file from its words. */
export async function stretch(words: string, salt: Uint8Array): Promise<RoamingKey> {
  return { salt, stretched: await argon2id(words, ROAMING_COST, salt) };
}
