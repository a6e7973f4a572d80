/**
 * Documents that pages name for programs that never sign in: pictures for previews, and feeds. They are public, or links that are shared would
 * have no picture, and feed readers nothing to read; not those that a rule puts into another set than the page.
 */
import { documentPathOf, urlPathOf } from '../../core/site/path.ts';
import { baseOf } from '../../teaser/fallback-page.ts';
import type { Teaser } from '../../teaser/page.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import { isPicture, mayBeFeed, mediaTypeOf } from './media-type.ts';
import type { SetRules } from './sets.ts';
import type { SourceFile } from './walk.ts';

/** Tells whether pages can make a document public by naming it; it is decided about after all pages have been read. */
export function canBeNamed(mediaType: string): boolean {
  return isPicture(mediaType) || mayBeFeed(mediaType);
}

/** Lists paths of the documents of the site that a page names. @param path - of the page */
export function namedBy(
  path: string,
  { openGraph, feeds, base = '' }: Pick<Teaser, 'feeds' | 'openGraph'> & { readonly base?: string | undefined },
  { site, content }: Pick<Configuration, 'content' | 'site'>,
): string[] {
  const hosts = new Set([site, ...[content].flat().map((origin) => new URL(origin).hostname)]);
  const own = baseOf(base, `http://${site}${urlPathOf(path)}`);
  const pathOf = (address: string): string | undefined => {
    const url = address !== '' && URL.canParse(address, own) ? new URL(address, own) : undefined;
    return url && /^https?:$/.test(url.protocol) && hosts.has(url.hostname) ? documentPathOf(url.pathname) : undefined;
  };
  const picture = pathOf(openGraph.get('og:image') ?? '');
  return [
    ...(picture !== undefined && isPicture(mediaTypeOf(picture)) ? [picture] : []),
    ...feeds.flatMap((address) => pathOf(address) ?? []).filter((feed) => mayBeFeed(mediaTypeOf(feed))),
  ];
}

/** The documents that pages make public by naming them, once all pages have been looked at. */
export class NamedDocuments {
  readonly #rules: Pick<SetRules, 'mayName'>;
  readonly #previews: boolean;
  readonly #paths = new Set<string>();
  /** Claims of an index about pages that were not read: no reason to show anything to other people than before. */
  readonly #claims = new Map<string, SourceFile>();

  constructor({ previews }: Pick<Configuration, 'previews'>, rules: Pick<SetRules, 'mayName'>) {
    this.#rules = rules;
    this.#previews = previews === 'public';
  }

  /**
   * @param paths - as {@link namedBy} returns them
   * @param page - the path of the page that names them
   */
  add(paths: readonly string[], page: string): void {
    for (const path of this.#counting(paths, page)) this.#paths.add(path);
  }

  /** @param page - of which an index says that it names `paths` */
  claim(paths: readonly string[], page: SourceFile): void {
    for (const path of this.#counting(paths, page.path)) this.#claims.set(path, page);
  }

  has(path: string): boolean {
    return this.#paths.has(path) || this.#claims.has(path);
  }

  /** Gives away the page that has to be read before a document counts as named; `undefined` if none has. */
  takeClaim(path: string): SourceFile | undefined {
    const page = this.#paths.has(path) ? undefined : this.#claims.get(path);
    this.#claims.delete(path);
    return page;
  }

  #counting(paths: readonly string[], page: string): string[] {
    return paths.filter((path) => (this.#previews || !isPicture(mediaTypeOf(path))) && this.#rules.mayName(page, path));
  }
}
