/** Taking over the identity in a roaming file: docs/spec/roaming.md, sections 4 to 6. */
import { equalSecrets, sha256 } from '#primitives';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { CodedError } from '../../core/errors.ts';
import { openRoaming, type RoamingBinding, type RoamingIdentity, readRoamingSalt } from '../../core/keys/roaming.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { fetchClaim, type ProofSettings, type Proved, prove } from '../connect/prove.ts';
import { ReaderError } from '../errors.ts';
import { gatewayLabel } from '../gateway/label.ts';
import type { Upstream } from '../network/upstream.ts';
import type { ReaderStore } from '../store/store.ts';
import type { HostProof, NewBinding, RoamingKey, RoamingRecord, StoredBinding, StoredSite } from '../store/types.ts';
import { stretch } from './roaming.ts';

export type Age =
  /** File of a line of which it has seen none: there may be a newer one. */
  | 'unknown'
  /** File newer than any that it has seen, or the newest again. */
  | 'newest'
  /** File other than the newest, with the same number: two devices wrote one each. */
  | 'beside';

/** A site of the file that would be connected, or whose device key would be another. */
export interface ArrivingSite {
  readonly site: string;
  /** Name that its publisher gives itself; proves nothing. */
  readonly name: string;
  /** Root id. */
  readonly publisher: string;
  readonly keyServer: string;
  /** Kind of proof found just now; left out where there is none, and it cannot be connected. */
  readonly proof?: HostProof;
  readonly problem?: string;
}

export interface ArrivalDialog {
  /** Decides which of the proved sites are connected. */
  confirm(sites: readonly ArrivingSite[]): Promise<readonly string[]>;
}

export interface ArrivalReport {
  readonly number: number;
  /** Seconds since 1970. */
  readonly written: number;
  readonly age: Age;
  readonly added: readonly string[];
  /** Sites of the file that stay as they are, because another publisher or key server has them here. */
  readonly taken: readonly string[];
  /** Sites of the file that were not proved, or not confirmed: nothing of them was taken over. */
  readonly left: readonly string[];
  readonly removed: readonly string[];
  /** Tells whether the device is the one of the file now; else it keeps a seed of its own. */
  readonly sameDevice: boolean;
}

export interface RoamingFile {
  readonly packed: RoamingIdentity;
  readonly digest: Uint8Array;
  readonly key: RoamingKey;
}

/** Opens a roaming file by words as {@link readWords} gives them. @throws KeyError `roaming-malformed`, `roaming-unreadable` */
export async function openArrival(file: Uint8Array, words: string): Promise<RoamingFile> {
  const key = await stretch(words, readRoamingSalt(file));
  return { packed: await openRoaming(file, key.stretched), digest: await sha256(file), key };
}

export interface ArrivalOptions extends ProofSettings {
  readonly replace: boolean;
  /** Take the file even if this device knows a newer one. */
  readonly acceptOlder: boolean;
}

export interface ArrivalMeans {
  readonly store: ReaderStore;
  readonly upstream: Upstream;
}

/**
 * Takes over the identity in a roaming file.
 *
 * @throws ReaderError `roaming-older`, `argument-invalid` where no site was confirmed, and of the store; where none could be proved, why the first
 * could not. Nothing was changed then
 */
export async function unpackIdentity(
  { store, upstream }: ArrivalMeans,
  { packed, digest, key }: RoamingFile,
  options: ArrivalOptions,
  dialog: ArrivalDialog,
): Promise<ArrivalReport> {
  const identity = store.identity();
  const seen = { ...packed, digest };
  judgeAge(identity.seenRoaming(packed.id), seen, options.acceptOlder); // R7
  const planned = plan(options.replace ? [] : await store.bindings(), packed.bindings);
  const arrivals = await Promise.all(planned.map((one) => proveArrival(upstream, one, options)));
  const chosen = await choose(arrivals, dialog);
  const bindings = (await Promise.all(arrivals.map((one) => newBinding(one, chosen)))).flatMap((one) => one ?? []);
  // Questions take time: what is there now counts.
  const age = judgeAge(identity.seenRoaming(packed.id), seen, options.acceptOlder);
  const isEmpty = options.replace || (await store.bindings()).length === 0;
  const sameDevice = isEmpty || equalSecrets(await store.deviceSeed(), packed.seed);
  const ownLine = identity.ownRoaming()?.id;
  const goesOn = options.replace || ownLine === undefined || ownLine === packed.id;
  const before = store.sites().map(({ site }) => site);
  await identity.saveArrival(
    {
      replace: options.replace,
      seed: isEmpty ? packed.seed : undefined,
      bindings,
      seen,
      key: goesOn ? key : undefined,
    },
    nowInSeconds(),
  );
  const after = store.sites().map(({ site }) => site);
  return {
    number: packed.number,
    written: packed.written,
    age,
    added: after.filter((site) => !before.includes(site)),
    taken: planned.flatMap(({ taken }) => taken),
    left: arrivals.flatMap(({ asked }) => asked).filter((site) => !chosen.has(site)),
    removed: before.filter((site) => !after.includes(site)),
    sameDevice,
  };
}

function judgeAge(known: RoamingRecord | undefined, file: RoamingRecord, acceptOlder: boolean): Age {
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

interface Planned {
  readonly binding: RoamingBinding;
  /** The binding with the same key server and publisher that is here already. */
  readonly same: StoredBinding | undefined;
  /** Tells whether its device key takes the place of the one here. */
  readonly isNewer: boolean;
  /** Connected here with this publisher, and left as they are. */
  readonly kept: readonly StoredSite[];
  readonly asked: readonly string[];
  /** Sites of others here. */
  readonly taken: readonly string[];
}

/** The later device key of each publisher counts, and no site changes hands. */
function plan(known: readonly StoredBinding[], packed: readonly RoamingBinding[]): Planned[] {
  return packed.map((binding) => {
    const same = known.find(({ descriptor }) => isSameProvider(descriptor, binding.descriptor));
    const others = known.filter((other) => other !== same).flatMap((other) => other.sites.map(({ site }) => site));
    const taken = binding.sites.filter((site) => others.includes(site));
    const isNewer = same === undefined || binding.bound > same.bound;
    const kept = isNewer ? [] : (same?.sites ?? []).filter(({ site }) => binding.sites.includes(site));
    const asked = binding.sites.filter((site) => !taken.includes(site) && !kept.some((one) => one.site === site));
    return { binding, same, isNewer, kept, asked, taken };
  });
}

interface Provider {
  readonly keyServer: string;
  readonly publisher: string;
}

function isSameProvider(a: Provider, b: Provider): boolean {
  return a.keyServer === b.keyServer && a.publisher === b.publisher;
}

interface ProvedArrival extends Planned {
  readonly proved: Proved | undefined;
  readonly problem: CodedError | undefined;
}

/** R8: the author of the file may have connected with any publisher. Of its descriptor, only publisher and key server are used. */
async function proveArrival(upstream: Upstream, planned: Planned, settings: ProofSettings): Promise<ProvedArrival> {
  if (planned.asked.length === 0) return { ...planned, proved: undefined, problem: undefined };
  try {
    const { keyServer, publisher } = planned.binding.descriptor;
    const claimed = await fetchClaim(upstream, keyServer, publisher);
    return { ...planned, proved: await prove(upstream, claimed, settings), problem: undefined };
  } catch (error) {
    if (error instanceof CodedError) return { ...planned, proved: undefined, problem: error };
    throw error;
  }
}

/** R9. @returns those of the sites that were asked for which were proved and confirmed */
async function choose(arrivals: readonly ProvedArrival[], { confirm }: ArrivalDialog): Promise<ReadonlySet<string>> {
  const sites = arrivals.flatMap(describe);
  if (sites.length === 0) return new Set();
  const isProved = (site: string) => sites.some((one) => one.site === site && one.proof !== undefined);
  const isAllLost = !sites.some(({ site }) => isProved(site)) && arrivals.every(({ kept }) => kept.length === 0);
  const problem = arrivals.find((one) => one.problem)?.problem;
  if (isAllLost && problem) throw problem;
  const chosen = new Set((await confirm(sites)).filter(isProved));
  if (chosen.size === 0 && arrivals.every(({ kept }) => kept.length === 0))
    throw new ReaderError('argument-invalid', 'no site was confirmed, so nothing was changed');
  return chosen;
}

function describe({ binding, asked, proved, problem }: ProvedArrival): ArrivingSite[] {
  const { name, publisher, keyServer } = proved?.fetched.descriptor ?? binding.descriptor;
  return asked.map((site) => {
    const proof = proved?.fetched.descriptor.sites.some((one) => one.site === site)
      ? proved.proofs.get(site)
      : undefined;
    const why = problem?.message ?? `its publisher does not name ${site} any more`;
    return { site, name, publisher, keyServer, ...(proof === undefined ? { problem: why } : { proof }) };
  });
}

/** @returns `undefined` where nothing of it changes */
async function newBinding(
  { binding, same, isNewer, kept, asked, proved }: ProvedArrival,
  chosen: ReadonlySet<string>,
): Promise<NewBinding | undefined> {
  const confirmed = asked.flatMap((site) => {
    const proof = chosen.has(site) ? proved?.proofs.get(site) : undefined;
    return proof === undefined ? [] : [{ site, proof }];
  });
  if (proved === undefined || confirmed.length === 0) return undefined;
  const { descriptor, bytes } = proved.fetched;
  const isLater = same === undefined || descriptor.issued >= same.descriptor.issued;
  const added = confirmed.map(async ({ site, proof }) => ({ site, proof, label: await gatewayLabel(site) }));
  return {
    descriptor: isLater ? descriptor : same.descriptor,
    descriptorBytes: isLater ? bytes : same.descriptorBytes,
    deviceKey: isNewer ? binding.deviceKey : undefined,
    bound: binding.bound,
    sites: [...kept, ...(await Promise.all(added))],
    firstRoot: proved.firstRoot,
  };
}
