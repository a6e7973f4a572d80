/** Resolves a URL in a publication: docs/spec/publication.md, "Site settings". The same for every reader. */
import { documentPathOf, isDocumentPath, urlPathOf } from '../site/path.ts';
import type { DocumentEntry } from './document-entry.ts';
import type { Redirect, RedirectStatus, SiteSettings } from './settings.ts';

export type Resolution =
  | { readonly kind: 'document'; readonly path: string; readonly entry: DocumentEntry }
  | { readonly kind: 'redirect'; readonly status: RedirectStatus; readonly location: string }
  /** An authenticated 404. */
  | { readonly kind: 'missing'; readonly path: string }
  /** A spelling of a path that no document can have. */
  | { readonly kind: 'refused' };

/** Finds the entry of the document with a path; `undefined` if the publication has none. */
export type FindDocument = (documentPath: string) => Promise<DocumentEntry | undefined>;

/** Resolves the path and query of a URL. @param urlPath - as it stands in the request, perhaps with a query */
export async function resolveUrl(urlPath: string, find: FindDocument, settings: SiteSettings): Promise<Resolution> {
  const path = documentPathOf(urlPath);
  if (path === undefined) return { kind: 'refused' };
  const entry = await find(path);
  if (entry) return { kind: 'document', path, entry };
  const redirect = redirectsOf(settings).get(path);
  if (redirect) return { kind: 'redirect', status: redirect.status, location: redirect.to };
  return (await resolveOtherwise(urlPath, path, find, settings)) ?? { kind: 'missing', path };
}

async function resolveOtherwise(
  urlPath: string,
  path: string,
  find: FindDocument,
  { cleanUrls }: SiteSettings,
): Promise<Resolution | undefined> {
  const [written = ''] = urlPath.split(/[?#]/, 1);
  if (written.endsWith('/')) return undefined;
  const page = `${path}.html`;
  const pageEntry = cleanUrls && isDocumentPath(page) ? await find(page) : undefined;
  if (pageEntry) return { kind: 'document', path: page, entry: pageEntry };
  const index = `${path}/index.html`;
  if (!isDocumentPath(index) || !(await find(index))) return undefined;
  const query = /\?[^#]*/.exec(urlPath)?.[0] ?? '';
  return { kind: 'redirect', status: 308, location: `${urlPathOf(path)}/${query}` };
}

const redirectMaps = new WeakMap<SiteSettings, ReadonlyMap<string, Redirect>>();

function redirectsOf(settings: SiteSettings): ReadonlyMap<string, Redirect> {
  const known = redirectMaps.get(settings);
  if (known) return known;
  const made = new Map(settings.redirects.map((redirect) => [redirect.from, redirect]));
  redirectMaps.set(settings, made);
  return made;
}
