/** Finds the document of a connected site that an address means, as people and programs write it. */
import { ReaderError } from '../errors.ts';
import { labelOf } from '../gateway/label.ts';
import type { BoundSite, BoundSites } from '../site/bound-sites.ts';

/** The ports of `http:` and `https:`: both schemes name the site itself. */
const SITE_PORTS = ['', '80', '443'];

/** A document as the forward proxy is asked for it. */
export interface Located {
  readonly bound: BoundSite;
  /** URL in absolute form: `http://news.example/a.html?b`. */
  readonly target: string;
}

/**
 * @param address - `http://` or `https://` with a connected site, its gateway address, or the site and the path alone
 * @throws ReaderError `argument-invalid`, `not-connected`, `port-refused`
 */
export function locate(address: string, sites: Pick<BoundSites, 'find' | 'findLabel'>): Located {
  const { hostname, port, pathname, search } = parse(address);
  const host = hostname.replace(/\.$/, '');
  const label = labelOf(host);
  const bound = label === undefined ? sites.find(host) : sites.findLabel(label);
  if (bound === undefined) throw notConnected(host);
  if (label === undefined && !SITE_PORTS.includes(port))
    throw new ReaderError('port-refused', `all of ${bound.site} comes from its publication, nothing from port ${port}`);
  return { bound, target: `http://${bound.site}${pathname}${search}` };
}

function parse(address: string): URL {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `http://${address}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new ReaderError('argument-invalid', `no address of a document: ${withoutCredentials(url, address)}`, {
      typed: true,
    });
  return url;
}

/** Leaves out what stands in front of an `@`: it may be a password. */
function withoutCredentials(url: URL | undefined, address: string): string {
  return url && (url.username || url.password) ? `${url.protocol}//…@${url.host}/` : address;
}

export function notConnected(site: string): ReaderError {
  return new ReaderError('not-connected', `this device is not connected with ${site}`);
}
