/**
 * Keeps absolute links in the gateway. A page says `http://news.example/a.html`, and the reader has it open below `localhost`: followed
 * as it stands, the link would lead past the checks to the web host.
 */
import { createHash } from 'node:crypto';
import { parseAuthority } from '../network/request-target.ts';

/** Changes with every change of what rewriting does to a document: part of the entity tag. */
const REWRITING_VERSION = 3;

const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/** The beginning of a URL as browsers read it, up to the end of the authority; tabs and line ends are removed already. https://url.spec.whatwg.org/#url-parsing */
// biome-ignore lint/suspicious/noControlCharactersInRegex: browsers ignore control characters in front of a URL
const WITH_AUTHORITY = /^([\x00-\x20]*)(?:(https?):)?[/\\]{2,}([^/\\?#]*)/i;

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Gateway origins of one page's site, and of the sites that share its publisher. */
export class GatewayLinks {
  /** Differs wherever the same document would be rewritten in another way; for entity tags. */
  readonly tag: string;
  readonly #origins: ReadonlyMap<string, string>;

  /** @param origins - by site; none has anything in it that means something in HTML or CSS */
  constructor(origins: ReadonlyMap<string, string>) {
    this.#origins = origins;
    const said = JSON.stringify([REWRITING_VERSION, ...[...origins].sort(([one], [other]) => (one < other ? -1 : 1))]);
    this.tag = createHash('sha256').update(said).digest('base64url').slice(0, 12);
  }

  /**
   * Returns what to change at the beginning of a URL, so that it stays in the gateway: scheme and authority, nothing behind them.
   *
   * @param url - as the browser sees it: escapes of HTML or CSS undone, tabs and line ends dropped
   * @param decode - makes text of the bytes of a host name that is not ASCII
   */
  edit(url: string, decode = (bytes: string) => bytes): Edit | undefined {
    const [all, before = '', scheme, authority = ''] = WITH_AUTHORITY.exec(url) ?? [];
    const text = all === undefined ? undefined : this.originOf(scheme?.toLowerCase(), decode(authority));
    return all === undefined || text === undefined ? undefined : { start: before.length, end: all.length, text };
  }

  /** An absolute URL, in the gateway where it belongs there. */
  rewrite(url: string): string {
    const edit = this.edit(url);
    return edit === undefined ? url : edit.text + url.slice(edit.end);
  }

  /** The gateway origin of a host, which may have the port of its scheme. */
  originOf(scheme: string | undefined, authority: string): string | undefined {
    const standard = DEFAULT_PORTS[scheme ?? 'http'];
    const endpoint = parseAuthority(authority, standard);
    return endpoint?.port === standard ? this.#origins.get(endpoint?.host ?? '') : undefined;
  }
}

/** A source of a content security policy that names a host: https://www.w3.org/TR/CSP3/#framework-directive-source-list */
const HOST_SOURCE = /^(?:(https?):\/\/)?([^'*/:;,]+)(?::(\d+|\*))?(?=$|\/)/i;
const HASH = /(?:^|\s)'sha(?:256|384|512)-/i;

/** The edits that make a content security policy, which names the site by its own address, allow in the gateway what it allows on the site. */
export function editsOfPolicy(policy: string, links: GatewayLinks): Edit[] {
  return Array.from(policy.matchAll(/[^\s;,]+/g)).flatMap(({ 0: source, index }) => {
    const [all, scheme, host = '', port] = HOST_SOURCE.exec(source) ?? [];
    if (all === undefined) return [];
    const standard = port === undefined || port === '*' || port === (scheme?.toLowerCase() === 'https' ? '443' : '80');
    const text = standard ? links.originOf(undefined, host) : undefined;
    return text === undefined ? [] : [{ start: index, end: index + all.length, text }];
  });
}

/** Tells whether a content security policy knows styles by their hash, so that they may not be changed. */
export function keepsStyles(policy: string): boolean {
  return HASH.test(policy);
}

/** @param edits - in order, none overlapping */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = '';
  let position = 0;
  for (const edit of edits) {
    result += text.slice(position, edit.start) + edit.text;
    position = edit.end;
  }
  return result + text.slice(position);
}
