/**
 * The publisher's key store, `publisher.keys`: everything secret but the root key, encrypted under a passphrase (sealed-file.ts). It stays
 * offline, unless the machine that publishes is to do so without anybody's help.
 */
import { ed25519KeyPair, randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { hasMembers, isJsonObject, type Json, type JsonObject } from '../../core/encoding/canonical-json.ts';
import { KEY_LENGTH, type KeyId } from '../../core/keys/key-id.ts';
import { type PublisherIdentity, publisherIdentity } from '../../core/object/writer.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { damagedFile, openSealedFile, type SealedKind } from './sealed-file.ts';

const WORKSPACE_LENGTH = 16;

export const KEY_STORE_KIND: SealedKind = {
  version: 'wispr key store 2',
  name: 'publisher.keys',
};

/** The roles whose keys a key store holds. */
export const ONLINE_ROLES = ['targets', 'snapshot', 'timestamp'] as const;
export type OnlineRole = (typeof ONLINE_ROLES)[number];

/** The keys of a section: publisher/protect/sections.ts. */
export interface SectionKeyRing {
  /** Of everybody who may sign for it. */
  readonly publicKeys: readonly Uint8Array[];
  /** How many of them have to. */
  readonly threshold: number;
  /** Of this workspace's own key, if it has one. */
  readonly seed?: Uint8Array;
}

/** A previous key of a set. */
export interface KeptKey {
  readonly name: string;
  readonly key: Uint8Array;
}

/** What a key store holds. */
export interface KeyStoreContents {
  /** Set keys that were replaced, and that documents of sections which are held back are still encrypted under. */
  readonly kept: readonly KeptKey[];
  /** Seeds of role keys that were made for a root which is still to be signed by others. */
  readonly pending: readonly Uint8Array[];
  /** Version of the last publication whose metadata may have been written; 0 before the first. */
  readonly publication: number;
  /** Seed of the publisher key, the Ed25519 key under which objects and descriptor are signed. */
  readonly publisherSeed: Uint8Array;
  /** `1.root.json` and its successors, byte for byte, in their order. */
  readonly roots: readonly Uint8Array[];
  /** Seeds of this workspace's keys for roles. */
  readonly seeds: Readonly<Record<OnlineRole, Uint8Array>>;
  /** Keys of sections, by their names. */
  readonly sections: ReadonlyMap<string, SectionKeyRing>;
  /** Serial of the last key bundle. */
  readonly serial: number;
  /** When each set got its key, in seconds since 1970, by the name of the set; {@link OpenKeyStore.seal} keeps it. */
  readonly setsSince: ReadonlyMap<string, number>;
  /** Set keys by the name of the set. */
  readonly sets: ReadonlyMap<string, Uint8Array>;
  /** 16 random bytes that name this workspace to its key server. */
  readonly workspace: Uint8Array;
}

/** An opened key store. */
export interface OpenKeyStore {
  readonly contents: KeyStoreContents;
  /** The publisher key. */
  readonly publisher: PublisherIdentity;
  /** Who signs metadata here. */
  readonly signers: Readonly<Record<OnlineRole, RoleSigner>>;
  /** The publisher's identity. */
  readonly rootId: KeyId;
  readonly roots: readonly Uint8Array[];
  /** The bytes of the file that holds `contents`, under the same passphrase. */
  seal(contents: KeyStoreContents): Promise<Uint8Array>;
}

/**
 * Opens a key store.
 *
 * @throws PublishError `key-store-refused`, `passphrase-wrong`
 */
export async function openKeyStore(bytes: Uint8Array, passphrase: string): Promise<OpenKeyStore> {
  const file = await openSealedFile(KEY_STORE_KIND, bytes, passphrase);
  const contents = parseContents(file.content);
  const [first = new Uint8Array(0)] = contents.roots;
  const signer = (role: OnlineRole) => roleSigner(ed25519KeyPair(contents.seeds[role]));
  return {
    contents,
    publisher: await publisherIdentity(ed25519KeyPair(contents.publisherSeed)),
    signers: {
      targets: await signer('targets'),
      snapshot: await signer('snapshot'),
      timestamp: await signer('timestamp'),
    },
    rootId: await rootIdOf(first),
    roots: contents.roots,
    seal: (changed) => file.seal(encodeContents({ ...changed, setsSince: dateSets(contents, changed) })),
  };
}

/** The content of the file, before it is sealed. */
export function encodeContents(contents: KeyStoreContents): JsonObject {
  const { seeds } = contents;
  return {
    kept: contents.kept.map(({ name, key }) => ({ key: toBase64url(key), name })),
    pending: contents.pending.map(toBase64url),
    publication: contents.publication,
    publisherSeed: toBase64url(contents.publisherSeed),
    roots: contents.roots.map(toBase64url),
    seeds: Object.fromEntries(ONLINE_ROLES.map((role) => [role, toBase64url(seeds[role])])),
    sections: Array.from(contents.sections, ([name, { publicKeys, threshold, seed }]) => {
      return { keys: publicKeys.map(toBase64url), name, ...(seed && { seed: toBase64url(seed) }), threshold };
    }),
    serial: contents.serial,
    sets: Array.from(contents.sets, ([name, key]) => {
      return { key: toBase64url(key), name, since: contents.setsSince.get(name) ?? 0 };
    }),
    workspace: toBase64url(contents.workspace),
  };
}

/** A set keeps its date as long as it keeps its key. */
function dateSets(before: KeyStoreContents, { sets }: KeyStoreContents): Map<string, number> {
  const now = nowInSeconds();
  const dateOf = (name: string, key: Uint8Array) => {
    const known = before.sets.get(name);
    return (known && equalBytes(known, key) && before.setsSince.get(name)) || now;
  };
  return new Map(Array.from(sets, ([name, key]) => [name, dateOf(name, key)]));
}

const MEMBERS = 'kept pending publication publisherSeed roots sections seeds serial sets workspace'.split(' ');

function parseContents(value: Json | undefined): KeyStoreContents {
  if (!isJsonObject(value) || !hasMembers(value, MEMBERS)) throw damaged();
  const { kept, sections, pending, publication, publisherSeed, roots, seeds, serial, sets, workspace } = value;
  if (!isJsonObject(seeds) || !hasMembers(seeds, [...ONLINE_ROLES]) || !Array.isArray(sets)) throw damaged();
  if (!Array.isArray(kept) || !Array.isArray(sections)) throw damaged();
  const parsed = sets.map(parseSet);
  const chain = parseList(roots);
  if (chain.length === 0 || typeof publication !== 'number' || typeof serial !== 'number') throw damaged();
  return {
    kept: kept.map(parseKept),
    pending: parseList(pending, KEY_LENGTH),
    publication,
    publisherSeed: parseBytes(publisherSeed, KEY_LENGTH),
    roots: chain,
    seeds: {
      targets: parseBytes(seeds.targets, KEY_LENGTH),
      snapshot: parseBytes(seeds.snapshot, KEY_LENGTH),
      timestamp: parseBytes(seeds.timestamp, KEY_LENGTH),
    },
    sections: new Map(sections.map(parseSection)),
    serial,
    setsSince: new Map(parsed.map(({ name, since }) => [name, since])),
    sets: new Map(parsed.map(({ name, key }) => [name, key])),
    workspace: parseBytes(workspace, WORKSPACE_LENGTH),
  };
}

function parseSection(value: Json): [string, SectionKeyRing] {
  if (!isJsonObject(value) || typeof value.name !== 'string' || typeof value.threshold !== 'number') throw damaged();
  const { name, keys, seed, threshold } = value;
  const publicKeys = parseList(keys, KEY_LENGTH);
  return [name, { publicKeys, threshold, ...(seed !== undefined && { seed: parseBytes(seed, KEY_LENGTH) }) }];
}

function parseKept(value: Json): KeptKey {
  if (!isJsonObject(value) || typeof value.name !== 'string') throw damaged();
  return { name: value.name, key: parseBytes(value.key, KEY_LENGTH) };
}

function parseSet(value: Json): { name: string; key: Uint8Array; since: number } {
  if (!isJsonObject(value) || typeof value.name !== 'string' || typeof value.since !== 'number') throw damaged();
  return { name: value.name, key: parseBytes(value.key, KEY_LENGTH), since: value.since };
}

function parseList(value: Json | undefined, length?: number): Uint8Array[] {
  if (!Array.isArray(value)) throw damaged();
  return value.map((text) => parseBytes(text, length));
}

function parseBytes(value: Json | undefined, length?: number): Uint8Array {
  const bytes = fromBase64url(value, length);
  if (bytes === undefined) throw damaged();
  return bytes;
}

function damaged(): Error {
  return damagedFile(KEY_STORE_KIND);
}

/** One key, in the key store: a section works at once, and can be given to others later. */
export function freshRing(): SectionKeyRing {
  const seed = randomBytes(KEY_LENGTH);
  return { publicKeys: [ed25519KeyPair(seed).publicKey], threshold: 1, seed };
}
