/** From a name to the addresses that a connection may be made to. The addresses checked are those connected to: nothing is resolved twice. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { ReaderError } from '../errors.ts';
import { type AllowLocal, isAllowed } from './allow-local.ts';
import type { Endpoint } from './connect-to.ts';
import { isLocalAddress } from './local-addresses.ts';

export interface Resolved {
  readonly address: string;
  readonly family: number;
}

/** RFC 6761 section 6.3: names of this computer, whatever a name server says. */
const LOOPBACK: readonly Resolved[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * Addresses of `target` outside of this computer and its own network, and those inside that the reader permits.
 *
 * @param rules - `undefined`: the reader named the target, every address is permitted
 * @throws ReaderError `local-refused` if none is left; whatever the resolver says
 */
export async function resolvePermitted(
  target: Endpoint,
  rules: readonly AllowLocal[] | undefined,
): Promise<Resolved[]> {
  const all = await resolve(target.host);
  const permitted = all.filter(
    ({ address }) => rules === undefined || !isLocalAddress(address) || isAllowed(rules, target, address),
  );
  if (permitted.length === 0) throw localRefused(target, all[0]?.address ?? '');
  return permitted;
}

async function resolve(host: string): Promise<readonly Resolved[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  return /(?:^|\.)localhost$/i.test(host) ? LOOPBACK : lookup(host, { all: true });
}

function localRefused({ host, port }: Endpoint, address: string): ReaderError {
  const shown = isIP(host) === 6 ? `[${host}]` : host;
  const leads = address === host ? 'is on this computer or in' : 'leads to this computer or into';
  return new ReaderError('local-refused', `${shown} ${leads} its own network`, {
    hint: `if you want it all the same: --allow-local ${shown}:${port}`,
    cause: new Error(`it is ${address}`), // for the log: a page that asked can read the answer, and is not told
  });
}
