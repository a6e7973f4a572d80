/** Writing the identity into a roaming file, and taking it over from one: docs/spec/roaming.md. */
import { equalSecrets, randomBytes, sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { equalBytes } from '../../core/encoding/bytes.ts';
import {
  encodeRoaming,
  openRoaming,
  ROAMING_COST,
  ROAMING_SALT_LENGTH,
  type RoamingBinding,
  type RoamingIdentity,
  readRoamingSalt,
} from '../../core/keys/roaming.ts';
import { argon2id } from '../../node-support/argon2id.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { ReaderError } from '../errors.ts';
import { gatewayLabel } from '../gateway/label.ts';
import type { ReaderStore } from '../store/store.ts';
import type { NewBinding, RoamingKey, SeenRoaming, StoredBinding } from '../store/types.ts';
import { drawWords } from './words.ts';

/** A roaming file that is ready to be put down. */
export interface Departure {
  readonly file: Uint8Array;
  readonly number: number;
  /** Only where they are new: nobody can look them up later. */
  readonly words: string | undefined;
  readonly sites: readonly string[];
  /** To be called once the file is sure to be there, and before anybody can see it. */
  readonly remember: () => Promise<void>;
}

/**
 * Packs the identity: under the words of before, or under new ones.
 *
 * @throws ReaderError of the store
 */
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

/** What this device can say about the age of a roaming file. */
export type Age =
  /** It has seen no file of this line: there may be a newer one. */
  | 'unknown'
  /** Newer than any that it has seen, or the newest again. */
  | 'newest'
  /** Another with the number of the newest: two devices wrote one each. */
  | 'beside';

export interface ArrivalReport {
  readonly number: number;
  /** Seconds since 1970. */
  readonly written: number;
  readonly age: Age;
  /** Sites that can be read now and could not before. */
  readonly added: readonly string[];
  /** Sites of the file that stay as they are, because another publisher or key server has them here. */
  readonly taken: readonly string[];
  /** Sites that are connected no more. */
  readonly removed: readonly string[];
  /** Whether the device is the one of the file now; else it keeps a seed of its own. */
  readonly sameDevice: boolean;
}

/** A roaming file that its words have opened. */
export interface OpenedRoaming {
  readonly packed: RoamingIdentity;
  readonly digest: Uint8Array;
  readonly key: RoamingKey;
}

/**
 * Opens a roaming file.
 *
 * @param words - as {@link readWords} of words.ts gives them
 * @throws KeyError `roaming-malformed`, `roaming-unreadable`
 */
export async function openArrival(file: Uint8Array, words: string): Promise<OpenedRoaming> {
  const key = await stretch(words, readRoamingSalt(file));
  return { packed: await openRoaming(file, key.stretched), digest: await sha256(file), key };
}

export interface ArrivalOptions {
  /** Instead of adding to what is there. */
  readonly replace: boolean;
  /** Take the file even if this device knows a newer one. */
  readonly acceptOlder: boolean;
}

/**
 * Takes over the identity in a roaming file.
 *
 * @throws ReaderError `roaming-older`, and of the store. Nothing was changed then
 */
export async function unpackIdentity(
  store: ReaderStore,
  { packed, digest, key }: OpenedRoaming,
  options: ArrivalOptions,
): Promise<ArrivalReport> {
  const identity = store.identity();
  const seen = { ...packed, digest };
  const age = judgeAge(identity.seenRoaming(packed.id), seen, options.acceptOlder);
  const known = options.replace ? [] : await store.bindings();
  const before = store.sites().map(({ site }) => site);
  const { bindings, taken } = await plan(known, packed.bindings);
  const takesSeed = known.length === 0;
  const sameDevice = takesSeed || equalSecrets(await store.deviceSeed(), packed.seed);
  const ownLine = identity.ownRoaming()?.id;
  const goesOn = options.replace || ownLine === undefined || ownLine === packed.id;
  await identity.saveArrival(
    {
      replace: options.replace,
      seed: takesSeed ? packed.seed : undefined,
      bindings,
      seen,
      key: goesOn ? key : undefined,
    },
    nowInSeconds(),
  );
  const after = store.sites().map(({ site }) => site);
  const [added, removed] = [
    after.filter((site) => !before.includes(site)),
    before.filter((site) => !after.includes(site)),
  ];
  return { number: packed.number, written: packed.written, age, added, taken, removed, sameDevice };
}

function judgeAge(known: SeenRoaming | undefined, file: SeenRoaming, acceptOlder: boolean): Age {
  if (known === undefined) return 'unknown';
  if (file.number > known.number) return 'newest';
  if (file.number === known.number) return equalBytes(file.digest, known.digest) ? 'newest' : 'beside';
  if (acceptOlder) return 'beside';
  const date = new Date(known.written * 1000).toISOString().slice(0, 10);
  throw new ReaderError(
    'roaming-older',
    `this is roaming file number ${file.number}, and this device knows number ${known.number}, of ${date}`,
  );
}

/** What of the file is written: the later device key and the later descriptor of each publisher, and no site that is somebody else's here. */
async function plan(
  known: readonly StoredBinding[],
  packed: readonly RoamingBinding[],
): Promise<{ bindings: NewBinding[]; taken: string[] }> {
  const taken: string[] = [];
  const bindings: NewBinding[] = [];
  for (const binding of packed) {
    const same = known.find(({ descriptor }) => isSameProvider(descriptor, binding.descriptor));
    const others = known.filter((other) => other !== same).flatMap((other) => other.sites.map(({ site }) => site));
    const free = binding.sites.filter((site) => !others.includes(site));
    taken.push(...binding.sites.filter((site) => others.includes(site)));
    if (free.length === 0) continue;
    const sites = await Promise.all(free.map(async (site) => ({ site, label: await gatewayLabel(site) })));
    const isNewer = same === undefined || binding.bound > same.bound;
    const later = same && same.descriptor.issued > binding.descriptor.issued ? same : binding;
    const { descriptor, descriptorBytes } = later;
    const deviceKey = isNewer ? binding.deviceKey : undefined;
    bindings.push({
      descriptor,
      descriptorBytes,
      deviceKey,
      bound: binding.bound,
      sites,
      firstRoot: binding.firstRoot,
    });
  }
  return { bindings, taken };
}

interface Provider {
  readonly keyServer: string;
  readonly publisher: string;
}

function isSameProvider(a: Provider, b: Provider): boolean {
  return a.keyServer === b.keyServer && a.publisher === b.publisher;
}

async function stretch(words: string, salt: Uint8Array): Promise<RoamingKey> {
  return { salt, stretched: await argon2id(words, ROAMING_COST, salt) };
}
