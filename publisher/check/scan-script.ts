/** Looks through scripts for what leads out of a Reader. Scripts are not understood: only what is written out is found. */

export interface Match {
  /** The address as written. */
  readonly text: string;
  readonly offset: number;
}

/** Characters before a match that are looked at: a text may name its host a million times. */
const LOOKED_BACK = 2000;

const WORKER = /\bserviceWorker\s*\.\s*register\b/g;

/** Finds the hosts of one site in texts. */
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

  /** Where the hosts are written out in a script, or in data, but for comments. */
  inScript(text: string): Match[] {
    if (!this.#hosts.some((host) => text.includes(host))) return [];
    return Array.from(text.matchAll(this.#expression), (match) => ({ text: match[0], offset: match.index })).filter(
      ({ offset }) => !isInComment(text, offset),
    );
  }
}

/** Where a script registers a service worker. */
export function workersIn(text: string): number[] {
  if (!text.includes('serviceWorker')) return [];
  return Array.from(text.matchAll(WORKER), (match) => match.index).filter((offset) => !isInComment(text, offset));
}

/** Whether a comment stands around `offset`, as far as one can tell without reading the whole program. */
function isInComment(text: string, offset: number): boolean {
  const near = text.slice(Math.max(0, offset - LOOKED_BACK), offset);
  if (/^\s*(?:\*|\/\/)|\s\/\/\s/.test(near.slice(near.lastIndexOf('\n') + 1))) return true;
  const opened = near.lastIndexOf('/*');
  if (opened < 0 || near.indexOf('*/', opened + 2) >= 0) return false;
  return opened === 0 || /[\s;{}(),]/.test(near[opened - 1] ?? ''); // and not in a glob, such as "**/*.js"
}
