/** First phase of `wispr protect`: looks at configuration, keys and earlier output, and refuses what cannot be published. */
import { setImmediate } from 'node:timers/promises';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { readRecipient, recipientFileOf } from '../keys/hand-over.ts';
import { type OpenKeyStore, openKeyStore } from '../keys/key-store.ts';
import { hasKeyServer } from '../workspace/configuration/schema.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import { readKeyStore } from '../workspace/workspace.ts';
import { appearanceOf } from './appearance.ts';
import { setsDueForRekey } from './keys.ts';
import type { SiteLocation } from './location.ts';
import { inspectOutput } from './output.ts';
import type { Inspected } from './phases.ts';
import {
  areKeysBehind,
  behind,
  checkRootsKnown,
  type Published,
  publishedIn,
  signAbove,
  unknownLists,
} from './published.ts';
import { rolesOf } from './roles.ts';
import { RunKeys } from './run-keys.ts';
import { checkUseful, RunSections } from './sections.ts';

export interface InspectOptions {
  readonly passphrase: string;
  /** Keys that are here besides those of the key store: of a section's editors, of a second signer. */
  readonly signers?: readonly RoleSigner[];
  /** Names of sets that get a new key. */
  readonly rekey?: readonly string[];
  /** The highest publication that the authority or a target has: the next one gets a higher number. Default: the one in `out`. */
  readonly above?: Published | undefined;
  /** Goes on although the last publication was made elsewhere: every set gets a new key. */
  readonly restored?: boolean;
}

/**
 * Looks at all but the documents.
 *
 * @throws PublishError
 */
export async function inspect(
  location: SiteLocation,
  index: PublisherIndex,
  { passphrase, signers = [], rekey: wanted = [], above: highest, restored = false }: InspectOptions,
  checkNotStopped: () => void,
): Promise<Inspected> {
  const { workspace, configuration, out, now } = location;
  const keys = await RunKeys.of(await openWhileLooking(location, passphrase), workspace);
  const { publication, sections: rings, sets, setsSince } = keys.contents;
  const publisher = keys.store.publisher.id;
  const roles = await rolesOf(keys.store, signers);
  const sections = await RunSections.of(configuration, index, rings, signers);
  checkUseful(signers, roles, sections);
  const recipient = hasKeyServer(configuration)
    ? await readRecipient(recipientFileOf(workspace, configuration))
    : undefined;
  await checkRootsKnown(out, keys.store);
  const isServed = configuration.publish === undefined;
  const above = highest ?? (isServed ? await publishedIn(out, roles.root) : undefined);
  const isBehind = areKeysBehind(index, publication, above);
  if (isBehind && !restored) throw behind(above?.file.version);
  const unknown = unknownLists(index, above);
  const { rootId, root } = roles;
  const about = { rootId, nextRoot: root.version + 1, unknown, readOnly: false, checkNotStopped };
  const output = await inspectOutput(out, index, about);
  signAbove(index, unknown);
  sections.reconcile(index, output.signed, publisher);
  const rekey = setsDueForRekey(configuration, setsSince, now, [...wanted, ...(isBehind ? sets.keys() : [])]);
  const appearance = await appearanceOf(configuration, workspace.directory, publisher);
  return {
    location,
    index,
    keys,
    roles,
    sections,
    output,
    appearance,
    rekey,
    isBehind,
    recipient,
  };
}

/** Documents that are looked at while the key store is opened: as many as there is time for, and few enough to be kept in memory. */
const LOOK_AHEAD = 10_000;

/** To derive the key store's key from the passphrase takes a fifth of a second on another thread: meanwhile the site is looked at. */
async function openWhileLooking({ workspace, walk }: SiteLocation, passphrase: string): Promise<OpenKeyStore> {
  const opening = openKeyStore(await readKeyStore(workspace), passphrase);
  const looking = setImmediate().then(() => walk.lookAhead(LOOK_AHEAD)); // once the derivation is under way
  looking.catch(() => undefined); // a wrong passphrase comes first
  const store = await opening;
  await looking;
  return store;
}
