/** `wispr timestamp`: confirms the current publication for another while. */
import { join } from 'node:path';
import { ifGood } from '../../core/publication/errors.ts';
import { TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { checkExpiry } from '../../core/publication/verify-roles.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { readTimestamp } from '../authority/authority.ts';
import { LocalAuthority, stateBeside } from '../authority/local-authority.ts';
import { PublishError } from '../errors.ts';
import { replaceFile } from '../keys/file-update.ts';
import { openSigningKeys, readSigningKeys } from '../keys/signing-keys.ts';
import { writeKeyFiles } from '../protect/reading-site.ts';
import { headersOf } from '../publication/files.ts';
import { expiriesOf, type RoleState } from '../publication/roles.ts';
import { missing, openShown, openSnapshot, type SignedSnapshot } from '../publication/signed.ts';
import { metadataIn } from '../publication/sources.ts';
import { hasReadingSite } from '../workspace/configuration/schema.ts';
import { type Delivery, deliver } from './deliver.ts';
import { eachTarget } from './each-target.ts';
import { findHighest, type Reached } from './highest.ts';
import { keepTimestamp, type Site } from './site.ts';
import { hasBytes, plainFile } from './upload.ts';

export interface Confirmation extends Delivery {
  /** Tells whether it is a closing publication: readers are shown nothing. */
  readonly closed: boolean;
  readonly targets: readonly string[];
  /** Expiries of the publication, but for the timestamp. */
  readonly expires: readonly RoleState[];
}

/**
 * Confirms the current publication again, and puts the timestamp at every target.
 *
 * @throws PublishError `publication-missing`, `key-server-unreachable`, `key-server-refused`, `store-busy`; PublicationError `metadata-expired`,
 * `clock-off`
 */
export async function confirmSite(site: Site): Promise<Confirmation> {
  const highest = await findHighest(site);
  const { current: snapshot } = highest;
  if (snapshot === undefined) throw missing(site.out);
  const expires = await lasting(snapshot, site);
  if (!hasReadingSite(site.configuration)) await renewKeyFiles(site, highest);
  const timestamp = await site.authority.confirm({ ...snapshot, expiries: expires });
  return bringTo(site, highest, timestamp, snapshot, expires);
}

/** Keys end, and a month without a change has to give new ones; a target that fails is told of when it gets the timestamp. */
async function renewKeyFiles(site: Site, { reachable }: Reached): Promise<void> {
  const { configuration, out, store, now, signal } = site;
  const paths = await writeKeyFiles({ configuration, out, contents: store.contents, rootId: store.rootId, now: now() });
  const put = async (target: Target) => {
    for (const path of paths) {
      const isThere = await hasBytes(path, { site, target });
      if (!isThere) await target.upload(path, { file: join(out, path) }, headersOf(plainFile(path)));
    }
  };
  await eachTarget(reachable, put, { limit: site.targetLimit, signal });
}

/** Brings a confirmed timestamp everywhere; a closing snapshot goes with it. */
export async function bringTo(
  site: Site,
  reached: Reached,
  timestamp: Uint8Array,
  snapshot: SignedSnapshot,
  expires: readonly RoleState[],
): Promise<Confirmation> {
  await keepTimestamp(site, timestamp, snapshot);
  const { shown, delivery } = await deliver(site, timestamp, snapshot, reached);
  return { ...delivery, closed: snapshot.snapshot.closed, targets: shown.map(({ name }) => name), expires };
}

/** Options of a machine that confirms with nothing but an exported timestamp key. */
export interface KeyFileOptions {
  readonly keyFile: string;
  readonly passphrase: string;
  /** The directory with `timestamp.json`. */
  readonly directory: string;
  /** Seconds since 1970; the clock if left out. */
  readonly now?: number;
}

/**
 * Confirms the publication in a directory with an exported key, unless a later one was confirmed with it: what that machine has signed is
 * remembered beside the key.
 *
 * @throws PublishError `publication-missing`, `publication-older`, `publication-other`, `signatures-missing`, `passphrase-wrong`;
 * PublicationError `root-unexpected`, `metadata-expired`, `clock-off`
 */
export async function confirmWithKeyFile(options: KeyFileOptions): Promise<Confirmation> {
  const { keyFile, passphrase, directory, now = nowInSeconds() } = options;
  const { signers, rootId } = await openSigningKeys(await readSigningKeys(keyFile), passphrase, keyFile);
  const place = metadataIn(directory);
  const shown = await openShown(place, directory, rootId);
  const { roots, snapshot } = shown;
  const signer = signers.find(({ keyid }) => roots[0].roles.timestamp.keyids.includes(keyid));
  if (signer === undefined)
    throw new PublishError(
      'signatures-missing',
      `${keyFile} holds no timestamp key of the publication in ${directory}`,
    );
  const freshFor = freshnessOf(shown.timestamp);
  const authority = new LocalAuthority({ state: stateBeside(keyFile), signer, freshFor, now: () => now });
  await authority.learn(shown);
  const expires = await lasting(snapshot, { output: place, roots, now: () => now });
  const timestamp = await authority.confirm(snapshot);
  await replaceFile(join(directory, TIMESTAMP_FILE), timestamp, 0o644);
  return {
    publication: snapshot.file.version,
    closed: snapshot.snapshot.closed,
    freshUntil: readTimestamp(timestamp).timestamp.expires,
    ...{ targets: [directory], behind: [], absent: [], keyServer: undefined, expires },
  };
}

const HOUR = 3600;

/** Seconds for which the publisher wants timestamps to be good, in whole hours: a version may lie a little after the time of signing. */
function freshnessOf({ expires, version }: { readonly expires: number; readonly version: number }): number {
  return Math.max(1, Math.round((expires - version) / HOUR)) * HOUR;
}

/**
 * Finds when the metadata below the timestamp have to be signed again. Nothing below a closing snapshot is read; where `out` is lost, only root
 * and snapshot are known.
 *
 * @throws PublicationError `metadata-expired`
 */
async function lasting(
  signed: SignedSnapshot,
  { output, roots, now }: Pick<Site, 'output' | 'roots' | 'now'>,
): Promise<RoleState[]> {
  const { snapshot } = signed;
  const [root] = roots;
  const open = snapshot.closed ? undefined : await ifGood(() => openSnapshot(signed, output, roots));
  const known = Object.entries({ root, snapshot }).map(([role, { version, expires }]) => ({ role, version, expires }));
  const states = open ? await expiriesOf(open) : known;
  for (const state of states) checkExpiry(state.role, state, now());
  return states;
}
