/** Reads what a script names and does. */
import type { Match } from '../../teaser/reference.ts';

/** Characters before a match that are looked at: a text may name its host a million times. */
const LOOKED_BACK = 2000;

/** Uses that readers refuse or the in-browser reader never sees: a word of it, and where it stands. */
const USES = [
  ['service-worker', 'serviceWorker', /\bserviceWorker\s*['"`]?\]?\s*(?:\?\.|\.)\s*register\b/g],
  [
    'request-synchronous',
    '.open',
    /\.open\(\s*[^,;{}()]{1,40},(?:[^;{}()]|\([^;{}()]{0,100}\)){1,300}?,\s*(?:false|!1)\s*[,)]/g,
  ],
  ['frame-filled', 'content', /\bcontent(?:Document|Window\s*\.\s*document)\s*\.\s*(?:open|write)/g],
  ['frame-filled', 'Blob', /\bnew\s+Blob\([^;]{1,400}?\{\s*type\s*:\s*["'`]text\/html/g],
] as const;

export class HostFinder {
  readonly #expression: RegExp;
  readonly #hosts: readonly string[];

  /** @param hosts - in lower case */
  constructor(hosts: readonly string[]) {
    this.#hosts = hosts;
    const names = hosts.map((host) => host.replace(/[.[\]]/g, '\\$&')).join('|');
    // Slashes may be escaped; "news.example" is not in "news.example.org".
    const end = '(?![\\w-]|\\.[\\w-])';
    this.#expression = new RegExp(`(?:https?:)?(?:\\\\?/){2}(?:${names})(?::\\d+)?${end}[^\\s"'\`<>()]*`, 'gi');
  }

  /** Finds the hosts that are written out in a script, or in data, but for comments. */
  inScript(text: string): Match[] {
    if (!this.#hosts.some((host) => text.includes(host))) return [];
    return Array.from(text.matchAll(this.#expression), (match) => ({ text: match[0], offset: match.index })).filter(
      ({ offset }) => !isInComment(text, offset),
    );
  }
}

/** Finds where a script registers service workers, waits for requests, or fills frames. */
export function usesIn(text: string): { readonly kind: (typeof USES)[number][0]; readonly offset: number }[] {
  return USES.filter(([, word]) => text.includes(word)).flatMap(([kind, , expression]) =>
    Array.from(text.matchAll(expression), ({ index: offset }) => ({ kind, offset })).filter(
      ({ offset }) => !isInComment(text, offset),
    ),
  );
}

/** Tells whether a comment stands around `offset`, as far as one can tell without reading the whole program. */
function isInComment(text: string, offset: number): boolean {
  const near = text.slice(Math.max(0, offset - LOOKED_BACK), offset);
  if (/^\s*(?:\*|\/\/)|\s\/\/\s/.test(near.slice(near.lastIndexOf('\n') + 1))) return true;
  const opened = near.lastIndexOf('/*');
  if (opened < 0 || near.indexOf('*/', opened + 2) >= 0) return false;
  return opened === 0 || /[\s;{}(),]/.test(near[opened - 1] ?? ''); // a glob such as "**/*.js" opens no comment
}
