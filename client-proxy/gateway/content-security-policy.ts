/** Content security policies name the site by its own address; in the gateway its origin is another. */
import type { Edit, GatewayLinks } from './links.ts';

export interface PolicyEdits {
  readonly edits: Edit[];
  /** Styles are known by their hash here, and may not be changed. */
  readonly keepsStyles: boolean;
}

/** A source of a policy that names a host: https://www.w3.org/TR/CSP3/#framework-directive-source-list */
const HOST_SOURCE = /^(?:(https?):\/\/)?([^'*/:;,]+)(?::(\d+|\*))?(?=$|\/)/i;
const HASH = /(?:^|\s)'sha(?:256|384|512)-/i;

/** The edits that make a policy allow in the gateway what it allows on the site. */
export function editsOfPolicy(policy: string, links: GatewayLinks): PolicyEdits {
  const edits = Array.from(policy.matchAll(/[^\s;,]+/g)).flatMap(({ 0: source, index }) => {
    const [all, scheme, host = '', port] = HOST_SOURCE.exec(source) ?? [];
    if (all === undefined) return [];
    const standard = port === undefined || port === '*' || port === (scheme?.toLowerCase() === 'https' ? '443' : '80');
    const text = standard ? links.originOfHost(host) : undefined;
    return text === undefined ? [] : [{ start: index, end: index + all.length, text }];
  });
  return { edits, keepsStyles: HASH.test(policy) };
}
