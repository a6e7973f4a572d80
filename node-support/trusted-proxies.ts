/** Proxies in front: which addresses are theirs, and whose a request is that came through one. */
import { isInRange, parseRange } from './addresses.ts';

/** Whether an address is that of a proxy whose `X-Forwarded-For` counts. */
export type IsTrustedProxy = (address: string | undefined) => boolean;

/** @param networks - as `parseRange` takes them; what it does not take is trusted by none */
export function trustedProxies(networks: readonly string[] = []): IsTrustedProxy {
  const ranges = networks.flatMap((network) => parseRange(network) ?? []);
  return (address = '') => ranges.some((range) => isInRange(address, range));
}

/**
 * Whose request it is: the last address that no trusted proxy has.
 *
 * @param remote - the other end of the connection
 * @param forwarded - the header `X-Forwarded-For`; each proxy adds the address that it sees
 */
export function clientAddress(isTrusted: IsTrustedProxy, remote: string, forwarded: string | undefined): string {
  const way = [...(forwarded ?? '').split(',').map((address) => address.trim()), remote];
  return way.findLast((address, index) => index === 0 || !isTrusted(address)) || remote;
}
