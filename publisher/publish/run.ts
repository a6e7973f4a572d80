/** The whole of `wispr publish`: what anyone has, protect, publish. */

import type { ProtectOptions } from '../protect/protect.ts';
import { protectSite } from '../protect/protect.ts';
import type { ProtectSummary } from '../protect/summary.ts';
import { type Failed, findHighest, type Highest } from './highest.ts';
import type { PublishPlaces } from './places.ts';
import { type PublishSummary, publishSite } from './publish.ts';
import { type OpenSiteOptions, withSite } from './site.ts';
import type { UploadProgress } from './upload.ts';

export interface PublishRun extends OpenSiteOptions {
  readonly places: PublishPlaces;
  /** How the site is protected first. Left out: what is in `out` is published as it is. */
  readonly protect?: Pick<ProtectOptions, 'rekey' | 'signers' | 'onProgress'> | undefined;
  /** Called with what protecting did, before anything is sent. */
  readonly onProtected?: (summary: ProtectSummary, highest: Highest) => void;
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/**
 * Protects a site and publishes it. After any failure, the same run finishes.
 *
 * @throws as `protectSite` and `publishSite`
 */
export async function publishFromWorkspace(
  run: PublishRun,
): Promise<{ readonly summary: PublishSummary; readonly protection: ProtectSummary | undefined }> {
  const { places, onProgress, onProtected } = run;
  const highest = await withSite(places, run, findHighest);
  const { snapshot, reachable, failures } = highest;
  if (reachable.length === 0) throwFirst(failures);
  const protection = run.protect && (await protect(run, snapshot));
  if (protection) onProtected?.(protection, highest);
  const summary = await withSite(places, run, (site) =>
    publishSite(site, { targets: reachable, failures, onProgress }),
  );
  return { summary, protection };
}

function protect(
  { places, passphrase, signal, protect: how }: PublishRun,
  above: Highest['snapshot'],
): Promise<ProtectSummary> {
  return protectSite({
    ...{ configurationFile: places.configurationFile, passphrase, ...how },
    ...{ above, timestamp: 'later' },
    ...(signal && { signal }),
  });
}

function throwFirst([first]: readonly Failed[]): void {
  if (first) throw first.failure;
}
