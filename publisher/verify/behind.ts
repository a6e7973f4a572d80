/** Check that the publication of a host is the newest: the key server and the other content hosts are asked, which the publisher has named. */
import { withinTime } from '../../node-support/within-time.ts';
import { TIMESTAMP_PATH } from '../publication/files.ts';
import { openShown } from '../publication/signed.ts';
import type { VerifyReport } from './report.ts';
import type { KnownSite } from './site.ts';
import { WebSource } from './sources.ts';

/** Milliseconds that a place may take. */
const TIMEOUT = 10_000;

/**
 * Asks them; a place that does not answer says nothing about this one.
 *
 * @param own - origin of the place that is verified
 */
export async function checkNewest({ keyServer, content }: KnownSite, own: string, report: VerifyReport): Promise<void> {
  const { publisher, publication } = report;
  if (publisher === undefined || publication === undefined) return;
  const versionAt = async (origin: string) => {
    const shown = await openShown(new WebSource(origin), origin, publisher);
    return { origin, version: shown.snapshot.file.version };
  };
  const places = [...new Set([keyServer, ...content])].filter((origin) => origin !== own);
  const asked = await Promise.allSettled(places.map((origin) => withinTime(TIMEOUT, () => versionAt(origin))));
  const found = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const [newest] = found.sort((a, b) => b.version - a.version);
  if (newest === undefined) report.notes.push('no other place could be asked whether this publication is the newest');
  else if (newest.version > publication.version)
    report.find(TIMESTAMP_PATH, 'publication-behind', `${newest.origin} has publication ${newest.version}`);
}
