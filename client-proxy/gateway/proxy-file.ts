/** The PAC file: only what is for connected sites, and for hosts that HTTPCrypt was chosen for, goes to the Reader. It names them: for no page in the browser. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { isSite } from '../../core/site/site.ts';
import { ReaderError } from '../errors.ts';

/** Path at which browsers and systems fetch it. */
export const PROXY_FILE_PATH = '/proxy.pac';

const HEADERS = {
  'content-type': 'application/x-ns-proxy-autoconfig',
  'cache-control': 'no-store',
  // The file is a script, and a page of another site could load it as one.
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** @throws ReaderError `cross-site`, `method-refused` */
export function serveProxyFile(
  sites: readonly string[],
  port: number,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (!isForBrowser(request.headers))
    throw new ReaderError('cross-site', 'the file is for browsers, not for pages in them');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new ReaderError('method-refused', 'this file can only be read');
  const text = proxyFile(sites, port);
  response.writeHead(200, { ...HEADERS, 'content-length': String(Buffer.byteLength(text)) });
  response.end(request.method === 'HEAD' ? undefined : text);
}

/** Tells whether no page asked: a system that fetches it says nothing of a page; a typed address says `none`. */
function isForBrowser({ 'sec-fetch-site': site, origin, referer }: IncomingHttpHeaders): boolean {
  return site === undefined ? origin === undefined && referer === undefined : site === 'none';
}

/** @param sites - the connected ones, and those that HTTPCrypt was chosen for @param port - of the Reader on this machine */
export function proxyFile(sites: readonly string[], port: number): string {
  const names = sites.flatMap(namesOf).sort();
  return `// Made by the wispr Reader. Plain http: addresses of connected sites, and of hosts that are reached over HTTPCrypt, go to it; everything else goes where it went before.
// While the Reader does not run, those sites do not load: what their web host sends is unchecked.
var sites = ${JSON.stringify(names)};
function FindProxyForURL(url, host) {
  if (url.slice(0, 5).toLowerCase() !== "http:") return "DIRECT";
  var name = host.toLowerCase();
  if (name.charAt(name.length - 1) === ".") name = name.slice(0, -1);
  for (var i = 0; i < sites.length; i++) if (sites[i] === name) return "PROXY 127.0.0.1:${port}";
  return "DIRECT";
}
`;
}

/** Returns what browsers may call a host: some give an IPv6 address without its brackets. */
function namesOf(host: string): string[] {
  const address = /^\[(.*)\]$/.exec(host)?.[1];
  if (address !== undefined) return isIP(address) === 6 ? [host, address] : [];
  return isSite(host) || isIP(host) === 4 ? [host] : [];
}
