/** State of the publication of a site, for pages and commands of the Reader. */
import { PublicationError } from '../../core/publication/errors.ts';
import type { SitePublication } from '../../core/publication/site-publication.ts';

export type PublicationStatus =
  | { readonly kind: 'current' | 'stale'; readonly version: number; readonly confirmed: number }
  /** Publication that is not shown, or was not read yet. */
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unread' };

/** @param now - seconds since 1970 */
export async function statusOf(publication: SitePublication, now: number): Promise<PublicationStatus> {
  try {
    await publication.load();
    const { stale, version, confirmed } = publication.freshness(now);
    return { kind: stale ? 'stale' : 'current', version, confirmed };
  } catch (error) {
    const isRead = error instanceof PublicationError && error.code !== 'metadata-missing';
    return isRead ? { kind: 'refused', code: error.code } : { kind: 'unread' };
  }
}
