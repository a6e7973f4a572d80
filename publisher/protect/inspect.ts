/** The first phase of `wispr protect`: looks at configuration, keys and earlier output, and refuses what cannot be published. */
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { utcMinute } from '../../node-support/clock.ts';
import { PublishError } from '../errors.ts';
import { readRecipient, recipientFileOf } from '../keys/hand-over.ts';
import { type OpenKeyStore, openKeyStore } from '../keys/key-store.ts';
import { heldIn } from '../publication/held.ts';
import { type Configuration, hasKeyServer } from '../workspace/configuration/schema.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import { readKeyStore } from '../workspace/workspace.ts';
import { type Appearance, appearanceOf } from './appearance.ts';
import { setsDueForRekey, setsToRekeyOnRevoke } from './keys.ts';
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
  readonly rekey?: readonly string[];
  /** Keys that former readers may hold: their sets get new ones, where the configuration says so. */
  readonly formerReaders?: ReadonlySet<KeyId> | undefined;
  /** The highest publication that the authority or a target has: the next one gets a higher number. Default: the one in `out`. */
  readonly above?: Published | undefined;
  /** Goes on although the last publication was made elsewhere: every set gets a new key. */
  readonly restored?: boolean;
  readonly checkAll?: boolean | undefined;
}

/** Looks at all but the documents. @throws PublishError */
export async function inspect(
  location: SiteLocation,
  index: PublisherIndex,
  options: InspectOptions,
  checkNotStopped: () => void,
): Promise<Inspected> {
  const { passphrase, signers = [], rekey: wanted = [], above: highest, restored = false, checkAll } = options;
  const { workspace, configuration, out, now, only } = location;
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
  const appearance = await appearanceOf(configuration, workspace.directory, publisher);
  const settings = settingsMark(configuration, appearance);
  if (only) checkAlone(index, settings, above?.file.version, unknown.length > 0);
  const { rootId, root } = roles;
  const list = checkAll ? 'all' : only && 'none';
  const isOurs = above !== undefined && index.fact('ours')?.includes(above.file.sha256) === true;
  const about = { rootId, nextRoot: root.version + 1, unknown, isOurs, readOnly: false, checkNotStopped };
  const output = await inspectOutput(out, index, { ...about, list });
  signAbove(index, unknown);
  sections.reconcile(index, output.signed, publisher);
  const lost = [...sets.keys()].filter((name) => options.formerReaders?.has(keys.idOf(name) ?? ''));
  const named = [...wanted, ...(isBehind ? sets.keys() : []), ...setsToRekeyOnRevoke(configuration, lost)];
  const rekey = only ? new Set<string>() : setsDueForRekey(configuration, setsSince, now, named);
  return { location, index, keys, roles, sections, output, appearance, settings, rekey, isBehind, recipient };
}

/** Documents that are looked at while the key store is opened: as many as there is time for, and few enough to be kept in memory. */
const LOOK_AHEAD = 10_000;

/** Opens the key store, which takes a fifth of a second on another thread to derive its key; meanwhile the site is looked at. */
async function openWhileLooking({ workspace, walk }: SiteLocation, passphrase: string): Promise<OpenKeyStore> {
  const opening = openKeyStore(await readKeyStore(workspace), passphrase);
  const looking = setImmediate().then(() => walk.lookAhead(LOOK_AHEAD)); // starts once the derivation runs
  looking.catch(() => undefined); // a wrong passphrase comes first
  const store = await opening;
  await looking;
  return store;
}

/** Changes with all of the configuration and of what fallback pages are made from. */
function settingsMark(configuration: Configuration, { objectFacts, pageFacts }: Appearance): string {
  return hash('sha256', JSON.stringify([configuration, objectFacts, pageFacts]));
}

/** @throws PublishError `not-alone` where a few documents cannot be published by themselves */
function checkAlone(index: PublisherIndex, settings: string, current: number | undefined, isUnknown: boolean): void {
  const refuse = (reason: string) =>
    new PublishError('not-alone', `a few documents cannot be published alone: ${reason}`);
  const before = index.fact('whole');
  if (before === undefined || !index.lastChange().isSigned) throw refuse('no run over the whole site has ended yet');
  if (before !== settings)
    throw refuse('wispr.json, or what fallback pages are made from, has changed since the last whole run');
  if (isUnknown)
    throw refuse(
      `publication ${current} is not what the site was protected for: a rollback, a withdrawal, or made elsewhere`,
    );
  const last = index.roles().get('snapshot')?.version ?? 0;
  const until = heldIn(index).get(last);
  if (until !== undefined)
    throw refuse(`publication ${last}, held back until ${utcMinute(until)} and never sent, would be sent with them`);
}
