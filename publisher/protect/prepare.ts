/** What a run of `wispr protect` is given, and what it knows before it changes anything. */
import type { RoleSigner } from '../../core/publication/keys.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { stopped } from '../errors.ts';
import { readRecipient, recipientFileOf } from '../keys/hand-over.ts';
import { verifyChain } from '../keys/roots.ts';
import { siteSettingsOf } from '../site/site-settings.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import { type Appearance, appearanceOf } from './appearance.ts';
import { checkRekey, type RunKeys, setsDueForRekey } from './keys.ts';
import type { Place, PlaceOptions } from './locate.ts';
import { type InspectedOutput, inspectOutput } from './output.ts';
import { makePlan, type Plan } from './plan.ts';
import { areKeysOlder, checkRootsKnown, type Published, publishedIn, signAbove, unknownLists } from './published.ts';
import { checkUseful, RunSections } from './sections.ts';
import { type PublicationRoles, rolesOf } from './signing-plan.ts';

export interface DryRunOptions extends PlaceOptions {
  /** Names of sets that get a new key. */
  readonly rekey?: readonly string[];
  /** Called as the work goes on. */
  readonly onProgress?: (progress: Progress) => void;
  /** Stops the run; the previous publication stays as it is. */
  readonly signal?: AbortSignal;
}

export interface ProtectOptions extends DryRunOptions {
  readonly passphrase: string;
  /** Keys that are here besides those of the key store: of a section's editors, of a second signer. */
  readonly signers?: readonly RoleSigner[];
  /** The highest publication that the authority or a target has: the next one gets a higher number. Default: the one in `out`. */
  readonly above?: Published | undefined;
  /** `later`: `wispr publish` has the timestamp signed, once the files are where readers look for them. */
  readonly timestamp?: 'later';
  /** Called with the path of a new key bundle once it is on the disk, and before anything that needs its keys can be seen. */
  readonly handOverKeys?: (bundle: string) => Promise<void>;
}

export interface Progress {
  /** `looking`: at the site, whose size is not known yet. `writing`: documents. */
  readonly stage: 'looking' | 'writing';
  /** Documents. */
  readonly done: number;
  /** `undefined` while it is unknown. */
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
  /** Whether the key store is older than what was published: every set gets a new key then. */
  readonly areKeysOlder: boolean;
  readonly recipient: Uint8Array | undefined;
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
  await checkRootsKnown(out, keys.store);
  const newest = verifyChain(roles.roots);
  const above = options.above ?? (configuration.publish === undefined ? await publishedIn(out, newest) : undefined);
  const unknown = unknownLists(index, above);
  const output = await inspectOutput(out, index, {
    rootId: roles.rootId,
    nextRoot: newest.version + 1,
    unknown,
    readOnly: false,
    checkNotStopped,
  });
  const areOlder = areKeysOlder(index, keys.contents.publication, above);
  signAbove(index, unknown);
  sections.settle(index, output.signed, publisher);
  const { setsSince, sets } = keys.contents;
  const named = [...(options.rekey ?? []), ...(areOlder ? sets.keys() : [])];
  const rekey = setsDueForRekey(configuration, setsSince.keys(), (name) => setsSince.get(name), now, named);
  const onFound = (done: number) => options.onProgress?.({ stage: 'looking', done, total: undefined });
  const about = { source, walk, configuration, index, output, sections };
  const context = { ...about, rekey, checkNotStopped, onFound, readOnly: false };
  const setIdOf = (name: string) => keys.idOf(name);
  const appearance = await appearanceOf(configuration, workspace.directory, publisher);
  const plan = await makePlan({ ...context, appearance, setIdOf });
  checkRekey(options.rekey ?? [], plan.sets);
  const settings = siteSettingsOf(configuration, (path) => index.planned(path));
  const found = { keys, roles, sections, index, output, appearance, plan, settings };
  return { ...place, ...found, rekey, areKeysOlder: areOlder, recipient };
}

/** @throws PublishError `stopped` */
export function stopper(signal: AbortSignal | undefined): () => void {
  return () => {
    if (signal?.aborted) throw stopped();
  };
}
