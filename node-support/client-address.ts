/** Address of a request's client, also behind proxies. */
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';
import proxyaddr from 'proxy-addr';

const CLIENTS_OF_SHARED = 50;

/** Tells whether an address is in some networks: of proxies, or those that many people share. */
export type IsTrustedProxy = ReturnType<typeof proxyaddr.compile> & {
  /** Header that the proxies write, if it is not `X-Forwarded-For`. */
  readonly header?: ProxyHeader;
};

type ProxyHeader = 'forwarded' | 'x-forwarded-for';

/**
 * @param networks - addresses and networks that the configuration permits
 * @param header - the only one that is read: a proxy may pass on another one, which a client made up
 */
export function trustedProxies(
  networks: readonly string[] = [],
  header: ProxyHeader = 'x-forwarded-for',
): IsTrustedProxy {
  return Object.assign(proxyaddr.compile([...networks]), { header });
}

/**
 * Finds where a request comes from, as limits and queues tell addresses apart: an IPv4 address, or the first 56 bits of an IPv6 address. What
 * trusted proxies name is taken as far as it is addresses.
 */
export function clientAddress(request: IncomingMessage, isTrustedProxy: IsTrustedProxy): string {
  return ipKeyGenerator(wholeAddress(request, isTrustedProxy));
}

/** Finds where a connection comes from, as {@link clientAddress}; `undefined` for a proxy, which brings those of many. */
export function connectionAddress({ remoteAddress = '' }: Socket, isTrustedProxy: IsTrustedProxy): string | undefined {
  return isTrustedProxy(remoteAddress, 0) ? undefined : ipKeyGenerator(remoteAddress);
}

/**
 * Counts the clients behind an address: one, or in a network that many share, a class or a street.
 *
 * @param isShared - `undefined`: there are no such networks
 */
export function clientsBehind(
  request: IncomingMessage,
  isTrustedProxy: IsTrustedProxy,
  isShared: IsTrustedProxy | undefined,
): number {
  return isShared?.(wholeAddress(request, isTrustedProxy), 0) ? CLIENTS_OF_SHARED : 1;
}

/** Finds where a request comes from, as {@link clientAddress}, but the address in full, without the prefix of IPv4 in IPv6. */
export function wholeAddress({ socket, headers }: IncomingMessage, isTrustedProxy: IsTrustedProxy): string {
  let address = addressIn(socket.remoteAddress ?? '') ?? 'unknown';
  const { header = 'x-forwarded-for' } = isTrustedProxy;
  const text = String(headers[header] ?? '');
  for (const named of (header === 'forwarded' ? forwardedFor(text) : text.split(',')).reverse()) {
    const next = isTrustedProxy(address, 0) ? addressIn(named) : undefined;
    if (next === undefined) break;
    address = next;
  }
  return address;
}

/** Pair of `Forwarded` (RFC 7239), or none, and the sign behind it, from where the last one ended. Some proxies leave out quotation marks. */
const FORWARDED_PAIR =
  /[\t ]*(?:([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([\w!#$%&'*+.^`|~:[\]-]+))[\t ]*)?([,;]|$)/gy;

/** Nodes of `Forwarded`: none if any of it is no pair, since a quotation mark of a client could hide what a proxy added. A proxy that names none, or two, is ''. */
function forwardedFor(text: string): string[] {
  const proxies: string[][] = [[]];
  let end: string | undefined = ',';
  for (const [, name = '', quoted, plain = '', sign] of text.matchAll(FORWARDED_PAIR)) {
    if (name.toLowerCase() === 'for') proxies.at(-1)?.push(quoted ?? plain);
    if (sign === ',') proxies.push([]);
    end = sign;
  }
  return end === '' ? proxies.map((nodes) => (nodes.length === 1 ? (nodes[0] ?? '') : '')) : [];
}

/** The address in the text of a proxy or a socket, without brackets, port and zone: with a port, each connection would be counted apart. */
function addressIn(text: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(text.trim()) ?? [];
  const [address = ''] = (bracketed ?? plain ?? text.trim()).replace(/^::ffff:(?=[\d.]+$)/i, '').split('%');
  return isIP(address) > 0 ? address : undefined;
}
