import { Resolver } from 'node:dns/promises';
import { LIMITS } from '../limits.ts';

/**
 * Asks name servers, for a bounded time.
 *
 * @param servers - their addresses; none: those of the system
 * @throws what `ask` throws; `ECANCELLED` where time was up
 */
export async function askNameServers<Found>(
  servers: readonly string[] = [],
  ask: (resolver: Resolver) => Promise<Found>,
): Promise<Found> {
  const resolver = new Resolver({ timeout: 3000, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), LIMITS.dnsTimeout);
  try {
    return await ask(resolver);
  } finally {
    clearTimeout(timer);
  }
}
