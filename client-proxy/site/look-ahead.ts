/** Asks early for what a page will need. Failures are met again where something depends on them. */
import type { BoundSite, BoundSites } from './bound-sites.ts';

/** The publications of all connected sites, and the keys of their front pages. Never throws. @param now - seconds since 1970 */
export async function lookAhead(sites: BoundSites, now: () => number): Promise<void> {
  await sites.refresh().catch(() => undefined);
  await Promise.all(
    sites.all().map(async (site) => {
      await site.publication.current().catch(() => undefined);
      await askForKey(site, '/', now());
    }),
  );
}

/** The key of what an address names in the publication that is at hand. Never throws. @param target - path and query */
export async function askForKey({ publication, keys }: BoundSite, target: string, now: number): Promise<void> {
  try {
    const named = await publication.publication.resolve(target, now);
    if (named.kind === 'document' && named.entry.set !== undefined) await keys.find(named.entry.set);
  } catch {
    // nothing at hand may be shown, or there is no such key
  }
}
