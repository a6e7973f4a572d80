/** Address of a request's client, also behind proxies. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';
import proxyaddr from 'proxy-addr';

const CLIENTS_OF_SHARED = 50;

/** Tells whether an address is in some networks: of proxies whose `X-Forwarded-For` applies, or those that many people share. */
export type IsTrustedProxy = ReturnType<typeof proxyaddr.compile>;

/** @param networks - addresses and networks that the configuration permits */
export function trustedProxies(networks: readonly string[] = []): IsTrustedProxy {
  return proxyaddr.compile([...networks]);
}

/**
 * Finds where a request comes from, as limits and queues tell addresses apart: an IPv4 address, or the first 56 bits of an IPv6 address. What
 * trusted proxies name is taken as far as it is addresses.
 */
export function clientAddress(request: IncomingMessage, isTrustedProxy: IsTrustedProxy): string {
  return ipKeyGenerator(wholeAddress(request, isTrustedProxy));
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

function wholeAddress({ socket, headers }: IncomingMessage, isTrustedProxy: IsTrustedProxy): string {
  let address = addressIn(socket.remoteAddress ?? '') ?? 'unknown';
  for (const named of namedBy(headers).reverse()) {
    const next = isTrustedProxy(address, 0) ? addressIn(named) : undefined;
    if (next === undefined) break;
    address = next;
  }
  return address;
}

/** Pairs of `Forwarded` (RFC 7239), with whatever stands in quotation marks as one value. */
const FORWARDED_PAIR = /([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*))/g;

/** Nodes as proxies name them, the nearest one last. `Forwarded` is for those that write no `X-Forwarded-For`: these may pass on what a client made up. */
function namedBy({ 'x-forwarded-for': nodes, forwarded = '' }: IncomingMessage['headers']): string[] {
  if (nodes !== undefined) return String(nodes).split(',');
  const pairs = [...forwarded.matchAll(FORWARDED_PAIR)];
  return pairs.flatMap(([, name, quoted, plain = '']) => (name?.toLowerCase() === 'for' ? [quoted ?? plain] : []));
}

/** The address in the text of a proxy or a socket, without brackets, port and zone: with a port, each connection would be counted apart. */
function addressIn(text: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(text.trim()) ?? [];
  const [address = ''] = (bracketed ?? plain ?? text.trim()).split('%');
  return isIP(address) > 0 ? address : undefined;
}
