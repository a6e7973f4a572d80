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
 * Finds where a request comes from, as limits and queues tell addresses apart: an IPv4 address, or the first 56 bits of an IPv6 address. What a
 * proxy names is used only if it is an address and no more: with a port, each connection would be counted apart.
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

function wholeAddress(request: IncomingMessage, isTrustedProxy: IsTrustedProxy): string {
  const named = proxyaddr(request, isTrustedProxy);
  return isIP(named) > 0 ? named : (request.socket.remoteAddress ?? 'unknown');
}
