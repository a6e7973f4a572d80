/** The redirects of a configuration, followed like a reader's program follows them. */
import type { SiteSettings } from '../../core/publication/settings.ts';
import { documentPathOf, isDocumentPath } from '../../core/site/path.ts';

export type HasDocument = (documentPath: string) => boolean;

/** Outcome of a URL of the site (docs/spec/publication.md section 5), by the source alone. */
export type Target =
  | { readonly kind: 'document'; readonly path: string }
  | { readonly kind: 'redirect'; readonly from: string; readonly to: string }
  | { readonly kind: 'missing'; readonly path: string }
  | { readonly kind: 'refused' };

/** Redirects after which browsers give up. */
const MAXIMUM_REDIRECTS = 20;

/** Resolves URL paths of one site. The same rules as `resolveUrl` in core/publication, which asks signed metadata instead. */
export class SiteMap {
  readonly #has: HasDocument;
  readonly #cleanUrls: boolean;
  readonly #redirects: ReadonlyMap<string, string>;

  constructor({ redirects, cleanUrls }: Pick<SiteSettings, 'redirects' | 'cleanUrls'>, has: HasDocument) {
    this.#has = has;
    this.#cleanUrls = cleanUrls;
    this.#redirects = new Map(redirects.map(({ from, to }) => [from, to]));
  }

  /** @param urlPath - as it stands in a URL; query and fragment do not matter */
  resolve(urlPath: string): Target {
    const path = documentPathOf(urlPath);
    if (path === undefined) return { kind: 'refused' };
    if (this.#has(path)) return { kind: 'document', path };
    const to = this.#redirects.get(path);
    if (to !== undefined) return { kind: 'redirect', from: path, to };
    if (/^[^?#]*\/(?:[?#]|$)/.test(urlPath)) return { kind: 'missing', path };
    const page = `${path}.html`;
    if (this.#cleanUrls && isDocumentPath(page) && this.#has(page)) return { kind: 'document', path: page };
    const index = `${path}/index.html`;
    return isDocumentPath(index) && this.#has(index) ? { kind: 'document', path: index } : { kind: 'missing', path };
  }

  /**
   * Follows redirects to their end.
   *
   * @returns where they end; `elsewhere` on another host, `loop` never, or after more steps than browsers go
   */
  follow(urlPath: string): Target | { readonly kind: 'elsewhere' } | { readonly kind: 'loop' } {
    const passed = new Set<string>();
    for (let target = this.resolve(urlPath); ; ) {
      if (target.kind !== 'redirect') return target;
      if (!target.to.startsWith('/')) return { kind: 'elsewhere' };
      if (passed.has(target.from) || passed.size === MAXIMUM_REDIRECTS) return { kind: 'loop' };
      passed.add(target.from);
      target = this.resolve(target.to);
    }
  }
}

/** Problems of the redirects of a site; by `from`. */
export interface RedirectProblems {
  /** Redirects that lead back to themselves. */
  readonly loops: readonly string[];
  /** Redirects to a document that is not there. */
  readonly dangling: readonly string[];
  /** A document stands at the address itself, so it has no effect. */
  readonly shadowed: readonly string[];
}

export function problemsOfRedirects(settings: SiteSettings, has: HasDocument): RedirectProblems {
  const map = new SiteMap(settings, has);
  const loops: string[] = [];
  const dangling: string[] = [];
  const shadowed: string[] = [];
  for (const { from, to } of settings.redirects) {
    if (has(from)) shadowed.push(from);
    if (has(from) || !to.startsWith('/')) continue;
    const end = map.follow(to).kind;
    if (end === 'loop') loops.push(from);
    else if (end === 'missing' || end === 'refused') dangling.push(from);
  }
  return { loops, dangling, shadowed };
}
