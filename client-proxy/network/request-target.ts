/** Target of a request. One host has one spelling here, so that checks of a connected site are not evaded. */
import { remembering } from '../../core/encoding/remembering.ts';

/** Host name without final dot, addresses of IPv6 in brackets, and port. */
export interface Authority {
  readonly host: string;
  readonly port: number;
}

/** A request in absolute form, as clients send it to a proxy. */
export interface AbsoluteTarget extends Authority {
  /** Path and query exactly as the client wrote them; begins with `/`. */
  readonly path: string;
}

const ABSOLUTE = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#\\]*)([^#]*)/;
const HTTP_PORT = 80;

/** @returns `undefined` for anything that is not a sound `http:` URL */
export function parseAbsoluteTarget(target: string): AbsoluteTarget | undefined {
  const [, scheme, authority = '', rest = ''] = ABSOLUTE.exec(target) ?? [];
  const endpoint = scheme?.toLowerCase() === 'http' ? parseAuthority(authority, HTTP_PORT) : undefined;
  if (endpoint === undefined || /[^\x21-\x7e\x80-\xff]/.test(rest)) return undefined;
  return { ...endpoint, path: rest.startsWith('/') ? rest : `/${rest}` };
}

/** Host and port out of `host[:port]`. @param defaultPort - `undefined`: the port must be there */
export function parseAuthority(authority: string, defaultPort: number | undefined): Authority | undefined {
  const { host, port = defaultPort } = readAuthority(authority) ?? {};
  return host === undefined || port === undefined ? undefined : { host, port };
}

const readAuthority = remembering((authority): { host: string; port: number | undefined } | undefined => {
  const url = `http://${authority}/`;
  if (authority === '' || /[@/?#\\\s]/.test(authority) || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  const [, digits] = /:(\d*)$/.exec(authority) ?? [];
  const port = digits ? Number(digits) : undefined;
  const host = hostname.replace(/\.$/, '');
  const emptyLabel = host === '' || host.startsWith('.') || host.endsWith('.') || host.includes('..');
  return emptyLabel || (port !== undefined && (port < 1 || port > 65_535)) ? undefined : { host, port };
});

/** `Host` for an endpoint, without a default port. */
export function authorityOf({ host, port }: Authority): string {
  return port === HTTP_PORT ? host : `${host}:${port}`;
}

/** Origin of plain HTTP at an endpoint. */
export function originOf(endpoint: Authority): string {
  return `http://${authorityOf(endpoint)}`;
}
