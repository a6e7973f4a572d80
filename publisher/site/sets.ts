/** Decides which set each document belongs to, and why. */
import { PLACEHOLDERS } from '../../core/publication/set-titles.ts';
import { isSetName, PUBLIC, SET_NAME_FORM } from '../workspace/configuration/names.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import { compilePattern, type PathPattern } from './patterns.ts';

export interface Decision {
  /** The name of its set; `undefined` if it is public. */
  readonly set: string | undefined;
  readonly reason: string;
  /** Tells whether nothing decided, and the document falls into the default set. */
  readonly isDefault?: boolean;
}

/**
 * Documents that stay public whatever the rules about paths say, because programs that never sign in ask for them by these names.
 * Only the page itself can say otherwise.
 */
const ALWAYS_PUBLIC: readonly (readonly [pattern: string, reason: string])[] = [
  ['robots.txt', 'crawlers read it'],
  ['sitemap{,-*,_*}.{xml,xml.gz,txt}', 'crawlers read it'],
  ['favicon.ico', 'browsers ask for it by themselves'],
  ['apple-touch-icon*.png', 'devices ask for it by themselves'],
  ['{manifest,site}.webmanifest', 'browsers ask for it by themselves'],
  ['browserconfig.xml', 'browsers ask for it by themselves'],
  ['.well-known/**', 'programs look there (RFC 8615)'],
  ['{ads,app-ads,humans,security,llms}.txt', 'programs look there'],
  ['404.html', 'web hosts show it for pages that do not exist'],
  ['{CNAME,_headers,_redirects}', 'web hosts read it as configuration'],
  ['**/{feed,rss,atom}.xml', 'feed readers read it'],
  ['**/*.{rss,atom}', 'feed readers read it'],
];

const BY_NAME: Decision = { set: undefined, reason: 'pages name it for previews or feed readers' };

interface Rule {
  readonly pattern: PathPattern;
  readonly decision: Decision;
}

export class SetRules {
  readonly #public: readonly Rule[];
  readonly #always: readonly Rule[];
  readonly #sets: readonly { pattern: PathPattern; name: string; byName: Map<string, Decision> }[];
  readonly #default: Decision;
  readonly #used = new Set<PathPattern>();

  constructor({ public: publicPatterns, sets, defaultSet }: Configuration) {
    this.#public = publicPatterns.map((text) => openRule(text, `"public" names ${text}`));
    this.#always = ALWAYS_PUBLIC.map(([text, reason]) => openRule(text, reason));
    this.#sets = sets.map(({ path, name }) => ({ pattern: compilePattern(path), name, byName: new Map() }));
    this.#default = { set: defaultSet, reason: 'no rule fits', isDefault: true };
  }

  /**
   * Decides by the page's own word, then what is public, then what pages name, then the set rules in their order, then the default set.
   *
   * @param path - the document's path: `/a/b.html`
   * @param pageSet - the content of its `<meta name="wispr-set">`; not checked yet
   * @param isNamed - whether pages that may do so name it for previews or as a feed: named.ts
   */
  decide(path: string, pageSet: string | undefined, isNamed = false): Decision {
    const inside = path.slice(1);
    const { decision: byPath, pattern } = this.#byPath(inside);
    if (pattern) this.#used.add(pattern); // counts even if something else decides
    if (pageSet !== undefined) return { set: pageSet === PUBLIC ? undefined : pageSet, reason: 'the page says so' };
    return isNamed && byPath.set !== undefined ? BY_NAME : byPath;
  }

  /**
   * Tells whether a page makes a document public by naming it: if no rule puts the document into another set than the page. Only their paths
   * count: what a page says of its own set gives it no power over others.
   */
  mayName(page: string, named: string): boolean {
    const { decision } = this.#byPath(named.slice(1));
    return decision.isDefault === true || decision.set === this.#byPath(page.slice(1)).decision.set;
  }

  unused(): string[] {
    return [...this.#public, ...this.#sets]
      .filter(({ pattern }) => !this.#used.has(pattern))
      .map(({ pattern }) => pattern.text);
  }

  /** Returns the decision, the same object for documents alike, and the pattern of the configuration that made it. */
  #byPath(inside: string): { decision: Decision; pattern?: PathPattern } {
    const open = this.#public.find(({ pattern }) => pattern.match(inside));
    if (open) return open;
    const always = this.#always.find(({ pattern }) => pattern.match(inside));
    if (always) return { decision: always.decision };
    for (const { pattern, name, byName } of this.#sets) {
      const values = pattern.match(inside);
      if (!values) continue;
      const set = fill(name, values);
      const decision = byName.get(set) ?? { set, reason: `"sets" names ${pattern.text}` };
      byName.set(set, decision);
      return { decision, pattern };
    }
    return { decision: this.#default };
  }
}

function openRule(text: string, reason: string): Rule {
  return { pattern: compilePattern(text), decision: { set: undefined, reason } };
}

/** Says why a page's own word about its set is refused; `undefined` if it is good. */
export function problemOfPageSet(set: string | undefined): string | undefined {
  if (set === undefined || set === PUBLIC || isSetName(set)) return undefined;
  return `its <meta name="wispr-set"> says "${set}": a set's name ${SET_NAME_FORM}`;
}

function fill(name: string, values: Partial<Record<string, string>>): string {
  return PLACEHOLDERS.reduce(
    (text, placeholder) => text.replaceAll(`{${placeholder}}`, values[placeholder] ?? ''),
    name,
  );
}
