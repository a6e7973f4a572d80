/** What `wispr proxy status` tells: of the Reader that runs, and of what it is connected with. */

import { nowInSeconds } from '../../node-support/clock.ts';
import type { PublicationStatus } from '../../node-support/publication/publication-keeper.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { CacheStatus } from '../documents/cache/object-cache.ts';
import { gatewayUrl } from '../gateway/label.ts';
import type { BoundSites } from '../site/bound-sites.ts';
import type { KeyPlace } from '../store/protection.ts';

/** One connected site, and how its publication is. */
export interface SiteStatus {
  readonly site: string;
  /** What the publisher calls itself. */
  readonly publisher: string;
  /** Where a browser opens it, once the Reader runs; left out where its port is not known before. */
  readonly gateway?: string;
  readonly publication: PublicationStatus;
}

/** A Reader that runs, as it says of itself. */
export interface ReaderStatus {
  readonly version: string;
  readonly process: number;
  /** Seconds since 1970. */
  readonly started: number;
  /** Of the proxy. */
  readonly url: string;
  readonly sites: readonly SiteStatus[];
  readonly cache: CacheStatus;
  /** Whether its keys are locked away; then it can tell of no site. Where everything was forgotten, there are none. */
  readonly locked: boolean;
  /** Where the key of its database is; left out where everything was forgotten. */
  readonly keysIn?: KeyPlace['kind'];
}

/** What the status of a running Reader is made of. */
interface StatusParts {
  readonly sites: BoundSites;
  readonly cache: { status(): CacheStatus };
  readonly lock: {
    readonly isLocked: boolean;
    readonly isEmpty: boolean;
    readonly keysIn: KeyPlace['kind'] | undefined;
  };
}

/** How a Reader that starts now is, whenever it is asked. @param url - of the proxy */
export function statusOf({ sites, cache, lock }: StatusParts, url: string) {
  const known = { version: packageJson.version, process: process.pid, started: nowInSeconds(), url };
  const port = Number(new URL(url).port);
  return async (): Promise<ReaderStatus> => ({
    ...known,
    sites: await siteStatuses(sites, port),
    cache: cache.status(),
    locked: lock.isLocked && !lock.isEmpty,
    ...(lock.keysIn !== undefined && { keysIn: lock.keysIn }),
  });
}

/** @param port - of the gateway, where it is known */
export async function siteStatuses(sites: BoundSites, port: number | undefined): Promise<SiteStatus[]> {
  await sites.refresh();
  return Promise.all(
    sites.all().map(async ({ site, label, publisherName, publication }) => ({
      site,
      publisher: publisherName,
      ...(port !== undefined && { gateway: gatewayUrl(label, port) }),
      publication: await publication.status(),
    })),
  );
}
