/** Places where readers find the publication of this key server: here, at its push targets, at content hosts. */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { verifyOwnTimestamp } from '../../core/publication/verify-roles.ts';
import { CHECK_LIMIT } from '../../node-support/doctor/diagnosis.ts';
import type { PublicationLocation, VisiblePublication } from '../../node-support/doctor/shown.ts';
import { nameOfTarget } from '../../node-support/storage/open.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError } from '../errors.ts';
import { ProviderReader } from '../publication/provider.ts';
import { PushTarget } from '../publication/push-target.ts';
import { readCurrent, STRICT } from '../publication/stored.ts';
import { type ContentTarget, createContentHosts, targetsOf } from '../reading-site/content-host.ts';
import type { KeyServerState } from '../storage/state.ts';

/** The content hosts of the descriptor, or what stands in their place in the configuration; none before the first bundle. */
export async function contentTargets(state: KeyServerState, config: KeyServerConfig): Promise<ContentTarget[]> {
  const { fetchFrom = {} } = config;
  const known = await new ProviderReader(state.database).read();
  return known?.descriptor.sites.flatMap((site) => targetsOf(site, fetchFrom)) ?? [];
}

/** Lists the places; there is none before the first publication. */
export async function placesThatShow(
  state: KeyServerState,
  config: KeyServerConfig,
  content: readonly ContentTarget[],
): Promise<PublicationLocation[]> {
  const current = await readCurrent(state.database);
  if (!current) return [];
  const { publication, root } = current;
  const here = { version: publication.snapshotVersion, expires: publication.expires };
  return [
    { name: 'this key server', read: async () => here },
    ...(config.publication?.push ?? []).map((text) => ({
      name: nameOfTarget(text),
      read: async () => shownBy(await pushedTo(text), nameOfTarget(text), root),
    })),
    ...placesAt(content, root),
  ];
}

/** The content hosts alone. */
export function placesAt(content: readonly ContentTarget[], root: RootMetadata): PublicationLocation[] {
  return content.map((target) => ({
    name: target.origin,
    read: async (signal: AbortSignal) => shownBy(await fetchTimestamp(target, signal), target.origin, root),
  }));
}

async function shownBy(bytes: Uint8Array | undefined, name: string, root: RootMetadata): Promise<VisiblePublication> {
  if (bytes === undefined) throw new KeyServerError('target-behind', `there is no publication at ${name}`);
  const { snapshot, expires } = await verifyOwnTimestamp(bytes, root, STRICT);
  return { version: snapshot.version, expires };
}

async function pushedTo(text: string): Promise<Uint8Array | undefined> {
  const target = await PushTarget.open(text);
  try {
    return (await target.read()).bytes;
  } finally {
    target.close();
  }
}

async function fetchTimestamp(target: ContentTarget, signal: AbortSignal): Promise<Uint8Array | undefined> {
  const hosts = createContentHosts({});
  const wanted = {
    path: METADATA_PATH + TIMESTAMP_FILE,
    maximumLength: PUBLICATION_LIMITS.timestampLength,
    milliseconds: CHECK_LIMIT,
    newest: true,
    signal,
  };
  try {
    return await hosts.fetchFile(target, wanted);
  } finally {
    await hosts.close();
  }
}
