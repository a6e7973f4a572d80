/**
 * The publisher's key store, `publisher.keys`: everything secret but the root key, encrypted under a passphrase (sealed-file.ts). It stays
 * offline, unless the machine that publishes is to do so unattended.
 */
import { z } from 'zod';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { KEY_LENGTH, type KeyId } from '../../core/crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { equalBytes } from '../../core/encoding/bytes.ts';
import type { Json, JsonObject } from '../../core/encoding/canonical-json.ts';
import { type PublisherIdentity, publisherIdentity } from '../../core/object/writer.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { damagedFile, openSealedFile, type SealedKind } from './sealed-file.ts';

/** A period key, and what it is for: with another plan, set pattern, time zone or period it is another key. */
export interface PeriodKey {
  readonly plan: string;
  /** Patterns of set names, sorted. */
  readonly sets: readonly string[];
  readonly zone?: string;
  /** Seconds since 1970, inclusive. */
  readonly from: number;
  readonly until: number;
  readonly key: Uint8Array;
}

export interface NamedSet {
  readonly name: string;
  readonly id: KeyId;
  readonly key: Uint8Array;
}

const WORKSPACE_LENGTH = 16;

export const KEY_STORE_KIND: SealedKind = { version: 'wispr key store 2', name: 'publisher.keys' };

export const ONLINE_ROLES = ['targets', 'snapshot', 'timestamp'] as const;
export type OnlineRole = (typeof ONLINE_ROLES)[number];

export interface SectionKeyRing {
  readonly publicKeys: readonly Uint8Array[];
  readonly threshold: number;
  /** Seed of this workspace's own key, if it has one. */
  readonly seed?: Uint8Array;
}

export interface KeptKey {
  readonly name: string;
  readonly key: Uint8Array;
}

/** A reader of a site without a key server: publisher/serverless/. */
export interface Invitation {
  readonly name: string;
  /** Secret in its link, or derived from its password. */
  readonly secret: Uint8Array;
  readonly sets: readonly string[];
  /** The last second on which it is good, since 1970. */
  readonly until?: number;
  /** Salt of a password; stands in the link in place of the secret. */
  readonly salt?: Uint8Array;
}

export interface KeyStoreContents {
  /** Invitations in the order of their making. */
  readonly invitations: readonly Invitation[];
  /** Set keys that were replaced, and that documents of sections which are held back are still encrypted under. */
  readonly kept: readonly KeptKey[];
  /** Seeds of role keys that were made for a root which is still to be signed by others. */
  readonly pending: readonly Uint8Array[];
  /** Period keys of plans: of the current period and the next. */
  readonly periods: readonly PeriodKey[];
  /** Version of the last publication whose metadata may have been written; 0 before the first. */
  readonly publication: number;
  /** Seed of the publisher key, the Ed25519 key under which objects and descriptor are signed. */
  readonly publisherSeed: Uint8Array;
  /** `1.root.json` and its successors, byte for byte, in their order. */
  readonly roots: readonly Uint8Array[];
  readonly seeds: Readonly<Record<OnlineRole, Uint8Array>>;
  readonly sections: ReadonlyMap<string, SectionKeyRing>;
  readonly serial: number;
  /** Seconds since 1970 at which each set got its key, by the name of the set; {@link OpenKeyStore.seal} keeps it. */
  readonly setsSince: ReadonlyMap<string, number>;
  readonly sets: ReadonlyMap<string, Uint8Array>;
  /** 16 random bytes that name this workspace to its key server. */
  readonly workspace: Uint8Array;
}

export interface OpenKeyStore {
  readonly contents: KeyStoreContents;
  readonly publisher: PublisherIdentity;
  readonly signers: Readonly<Record<OnlineRole, RoleSigner>>;
  readonly rootId: KeyId;
  readonly roots: readonly Uint8Array[];
  /** The bytes of the file that holds `contents`, under the same passphrase. */
  seal(contents: KeyStoreContents): Promise<Uint8Array>;
}

/** @throws PublishError `key-store-refused`, `passphrase-wrong` */
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

/** A set keeps its date as long as it keeps its key. */
function dateSets(before: KeyStoreContents, { sets }: KeyStoreContents): Map<string, number> {
  const now = nowInSeconds();
  const dateOf = (name: string, key: Uint8Array) => {
    const known = before.sets.get(name);
    return (known && equalBytes(known, key) && before.setsSince.get(name)) || now;
  };
  return new Map(Array.from(sets, ([name, key]) => [name, dateOf(name, key)]));
}

function bytesOf(length?: number) {
  return z.codec(
    z.string(),
    z.custom<Uint8Array>((value) => value instanceof Uint8Array),
    {
      decode: (text, { issues }) => {
        const bytes = fromBase64url(text, length);
        if (bytes === undefined) issues.push({ code: 'custom', input: text, message: 'is not base64url' });
        return bytes ?? z.NEVER;
      },
      encode: (bytes) => toBase64url(bytes),
    },
  );
}

const KEY = bytesOf(KEY_LENGTH);

/** The content of the file, before it is sealed; canonical JSON orders it. */
const CONTENT = z.strictObject({
  invitations: z.array(
    z.strictObject({
      name: z.string(),
      salt: bytesOf().exactOptional(),
      secret: bytesOf(),
      sets: z.array(z.string()),
      until: z.number().exactOptional(),
    }),
  ),
  kept: z.array(z.strictObject({ key: KEY, name: z.string() })),
  pending: z.array(KEY),
  periods: z.array(
    z.strictObject({
      from: z.number(),
      key: KEY,
      plan: z.string(),
      sets: z.array(z.string()),
      until: z.number(),
      zone: z.string().exactOptional(),
    }),
  ),
  publication: z.number(),
  publisherSeed: KEY,
  roots: z.array(bytesOf()).min(1),
  seeds: z.strictObject({ targets: KEY, snapshot: KEY, timestamp: KEY }),
  sections: z.array(
    z.strictObject({ keys: z.array(KEY), name: z.string(), seed: KEY.exactOptional(), threshold: z.number() }),
  ),
  serial: z.number(),
  sets: z.array(z.strictObject({ key: KEY, name: z.string(), since: z.number() })),
  workspace: bytesOf(WORKSPACE_LENGTH),
});

export function encodeContents({ setsSince, ...contents }: KeyStoreContents): JsonObject {
  const sections = Array.from(contents.sections, ([name, { publicKeys, threshold, seed }]) => {
    return { keys: [...publicKeys], name, threshold, ...(seed && { seed }) };
  });
  const sets = Array.from(contents.sets, ([name, key]) => ({ key, name, since: setsSince.get(name) ?? 0 }));
  const kept = contents.kept.map(({ key, name }) => ({ key, name }));
  const { pending, roots } = contents;
  const invitations = contents.invitations.map((each) => ({ ...each, sets: [...each.sets] }));
  const periods = contents.periods.map((each) => ({ ...each, sets: [...each.sets] }));
  const lists = { invitations, kept, pending: [...pending], periods, roots: [...roots], sections, sets };
  return CONTENT.encode({ ...contents, ...lists });
}

function parseContents(value: Json | undefined): KeyStoreContents {
  const { data } = CONTENT.safeDecode(value as z.input<typeof CONTENT>);
  if (data === undefined) throw damagedFile(KEY_STORE_KIND);
  return {
    ...data,
    sections: new Map(data.sections.map(({ name, keys: publicKeys, ...rest }) => [name, { publicKeys, ...rest }])),
    setsSince: new Map(data.sets.map(({ name, since }) => [name, since])),
    sets: new Map(data.sets.map(({ name, key }) => [name, key])),
  };
}

/** Makes one key, for the key store: a section works at once, and can be given to others later. */
export function freshRing(): SectionKeyRing {
  const seed = randomBytes(KEY_LENGTH);
  return { publicKeys: [ed25519KeyPair(seed).publicKey], threshold: 1, seed };
}
