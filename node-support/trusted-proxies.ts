/** Proxies in front: which addresses are theirs, and whose a request is that came through one. */
import { BlockList, isIP } from 'node:net';

/** Whether an address is that of a proxy whose `X-Forwarded-For` counts. */
export type IsTrustedProxy = (address: string | undefined) => boolean;

/** An address, or a network like 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, more] = text.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return (
    more === undefined &&
    longest > 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= longest))
  );
}

/** @param networks - as {@link isNetwork} takes them */
export function trustedProxies(networks: readonly string[] = []): IsTrustedProxy {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address = '') => isIP(address) > 0 && list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
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
