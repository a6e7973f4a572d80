/** Targets for a window, from an address that came with a request: places of one origin, and of no other. */
import { READING_SITE_PAGES } from '../core/site/path.ts';

/** A path, query and fragment of an origin, or its front page for anything else. */
export function localTarget(text: string, origin: string): string {
  if (!text.startsWith('/') || !URL.canParse(text, origin)) return '/';
  const url = new URL(text, origin);
  const target = url.pathname + url.search + url.hash;
  // Dot segments can leave two slashes at the beginning, which lead to another host.
  return url.origin === origin && !/^\/[/\\]/.test(target) ? target : '/';
}

/** The same for documents: an own page of a reading site is none. */
export function documentTarget(text: string, origin: string): string {
  const target = localTarget(text, origin);
  return target.startsWith(`${READING_SITE_PAGES}/`) ? '/' : target;
}
