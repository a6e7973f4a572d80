/** What a run of `wispr protect` is given, and what it knows before it changes anything. */
import type { RoleSigner } from '../../core/publication/keys.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import type { Configuration } from '../configuration/schema.ts';
import { PublishError } from '../errors.ts';
import type { PublisherIndex } from '../index/publisher-index.ts';
import type { DeriveKey } from '../keys/early-key.ts';
import { readRecipient, recipientFileOf } from '../keys/hand-over.ts';
import { verifiedRoots, verifyChain } from '../keys/roots.ts';
import { readLastPublished, withdrawnUnder } from '../last-published.ts';
import type { LastPublished } from '../published-places.ts';
import { siteSettingsOf } from '../site/site-settings.ts';
import { checkSignedInPast } from '../timestamp/future.ts';
import type { Withdrawn } from '../timestamp/withdrawn.ts';
import { type Appearance, appearanceOf } from './appearance.ts';
import { timestampUnder } from './earlier-publication.ts';
import { forgetUnsigned } from './forget-unsigned.ts';
import { checkRekey, type RunKeys, setsDueForRekey } from './keys.ts';
import type { Place, PlaceOptions } from './locate.ts';
import { checkRootsKnown, type OlderKeys, olderKeysOf } from './older-keys.ts';
import { type InspectedOutput, inspectOutput } from './output.ts';
import { makePlan, type Plan } from './plan.ts';
import { type PublicationRoles, rolesOf } from './roles.ts';
import { checkUseful, RunSections } from './sections.ts';
import type { SpareThreads } from './writers/spare-threads.ts';

export interface DryRunOptions extends PlaceOptions {
  /** Names of sets that get a new key. */
  readonly rekey?: readonly string[];
  /** Called as the work goes on. */
  readonly onProgress?: (progress: Progress) => void;
  /** Stops the run; the publication before stays as it is. */
  readonly signal?: AbortSignal;
}

/** {@link DryRunOptions}, and what the command line says of keys that nobody opens. */
export interface PlanOptions extends DryRunOptions {
  /** Whether key files will be brought along, so that no section may have to wait. */
  readonly bringsKeys?: boolean;
}

export interface ProtectOptions extends DryRunOptions {
  readonly passphrase: string;
  /** Knows the key perhaps already. */
  readonly derive?: DeriveKey | undefined;
  /** Threads that were started already; whoever started them ends those that are left. */
  readonly spare?: SpareThreads | undefined;
  /** Keys that are here besides those of the key store: of a section's editors, of a second signer. */
  readonly signers?: readonly RoleSigner[];
  /** Called with the path of a new key bundle once it is on the disk, and before anything that needs its keys can be seen. */
  readonly handOverKeys?: (bundle: string) => Promise<void>;
}

export interface Progress {
  /** `looking`: at the site, whose size is not known yet. `writing`: documents. */
  readonly stage: 'looking' | 'writing';
  /** Documents. */
  readonly done: number;
  /** `undefined` while nobody knows. */
  readonly total: number | undefined;
}

/** A run, once everything that could be refused is known to be good. */
export interface Run extends Place {
  readonly keys: RunKeys;
  readonly roles: PublicationRoles;
  readonly sections: RunSections;
  readonly index: PublisherIndex;
  readonly output: InspectedOutput;
  readonly appearance: Appearance;
  readonly plan: Plan;
  readonly settings: SiteSettings;
  readonly rekey: ReadonlySet<string>;
  /** Where the key store may be older than what was published. */
  readonly olderKeys: OlderKeys | undefined;
  readonly recipient: Uint8Array | undefined;
  /** Versions that stay withdrawn. */
  readonly withdrawn: Withdrawn;
  /** The highest version that was published, or may have been, or withdrawn. */
  readonly known: number;
}

/**
 * Looks at everything, and refuses what cannot be published.
 *
 * @throws PublishError
 */
export async function prepare(
  place: Place,
  keys: RunKeys,
  index: PublisherIndex,
  options: ProtectOptions,
): Promise<Run> {
  const { workspace, configuration, source, walk, out, now } = place;
  const checkNotStopped = stopper(options.signal);
  const publisher = keys.store.publisher.id;
  const roles = rolesOf(keys.store, options.signers);
  const sections = await RunSections.of(configuration, index, keys.contents.sections, options.signers);
  checkUseful(options.signers ?? [], roles, sections);
  const recipient = await readRecipient(recipientFileOf(workspace, configuration));
  const last = await readLastPublished(workspace);
  const withdrawn = await withdrawnSoFar(place, roles, last);
  const publishers = [roles.rootId, publisher];
  const chain = verifiedRoots(roles.roots);
  await forgetUnsigned(out, index, chain);
  const whose = { publishers, roots: chain, published: keys.contents.publication };
  const output = await inspectOutput(out, index, { ...whose, readOnly: false, checkNotStopped });
  await checkRootsKnown(out, keys);
  const olderKeys = await olderKeysOf(keys, index, output, out);
  learnOthers(index, output, last);
  sections.settle(index, output.metadata, publisher);
  const { setsSince } = keys.contents;
  const named = [...(options.rekey ?? []), ...(olderKeys?.sets ?? [])];
  const rekey = dueForRekey(configuration, setsSince.keys(), (name) => setsSince.get(name), now, named);
  const onFound = (done: number) => options.onProgress?.({ stage: 'looking', done, total: undefined });
  const about = { source, walk, configuration, index, output, sections };
  const context = { ...about, rekey, checkNotStopped, onFound, readOnly: false };
  const setIdOf = (name: string) => keys.idOf(name);
  const appearance = await appearanceOf(configuration, workspace.directory, publisher);
  const plan = await makePlan({ ...context, appearance, setIdOf });
  checkRekey(options.rekey ?? [], plan.sets);
  const settings = siteSettingsOf(configuration, (path) => index.planned(path));
  const found = { keys, roles, sections, index, output, appearance, plan, settings };
  return { ...place, ...found, rekey, olderKeys, recipient, withdrawn, known: last.highest };
}

/**
 * Versions that stay withdrawn, as long as those who said so may sign.
 *
 * @throws PublicationError `clock-behind`: what would be signed now has to be later than that, and no reader would take it
 */
async function withdrawnSoFar(
  { out, now }: Place,
  { roots }: PublicationRoles,
  last: LastPublished,
): Promise<Withdrawn> {
  const root = verifyChain(roots);
  const before = await timestampUnder(out, root);
  if (before) checkSignedInPast(before, now, out);
  return { own: last.withdrawn, others: [...withdrawnUnder(root, last), ...(before?.withdrawn ?? [])] };
}

/**
 * Readers may have seen what the output shows, and take nothing older: so whatever of it the index does not know, or knows otherwise, is signed
 * anew. The snapshot too, whose row stays, so that the next run sees the difference if this one is interrupted.
 * Where output and index were put back together, to before what was published from here, all of it is: nobody knows which lists were made since.
 */
function learnOthers(
  index: PublisherIndex,
  { signed: { others } }: InspectedOutput,
  { highest }: Pick<LastPublished, 'highest'>,
): void {
  const rows = index.roles();
  const snapshot = rows.get('snapshot');
  const isPutBack = snapshot !== undefined && snapshot.version < highest;
  if (isPutBack) index.correctRoles([...rows.values()].map((row) => ({ ...row, expires: 0 })));
  if (others === undefined) return;
  const other = others.filter(({ name, version, sha256 }) => {
    const own = rows.get(name);
    return own === undefined || own.version < version || (own.version === version && own.sha256 !== sha256);
  });
  index.correctRoles([...other, ...(snapshot ? [{ ...snapshot, expires: 0 }] : [])]);
}

/** Sets that get a new key: those that were named, and those whose time has come. */
export function dueForRekey(
  configuration: Configuration,
  sets: Iterable<string>,
  since: (name: string) => number | undefined,
  now: number,
  named: readonly string[] = [],
): Set<string> {
  return new Set([...named, ...setsDueForRekey(configuration, sets, since, now)]);
}

/** @throws PublishError `stopped` */
export function stopper(signal: AbortSignal | undefined): () => void {
  return () => {
    if (!signal?.aborted) return;
    throw new PublishError('stopped', 'stopped; readers find the publication before', {
      hint: 'run the same command again: it goes on where this run ended',
    });
  };
}
