/** The listeners of a running key server: what listens, and for whom. */

import { trustedProxies } from '../../node-support/client-address.ts';
import type { ConnectionLimits } from '../../node-support/client-connections.ts';
import type { KeyServerConfig, ListenerConfig } from '../config/config.ts';
import { type Listener, listenFor } from './listen.ts';

/** Listeners, of which the last three may be left out. */
export interface Listeners {
  readonly api: Listener;
  readonly reading: Listener;
  readonly documents: Listener;
  readonly httpcrypt: Listener | undefined;
  readonly metrics: Listener | undefined;
  readonly admin: Listener | undefined;
}

/**
 * Opens all listeners, or none.
 *
 * @param elsewhere - opens the first three in other processes
 * @throws KeyServerError `configuration-invalid`, `certificate-…`, `listen-failed`
 */
export async function openListeners(
  config: KeyServerConfig,
  limits: ConnectionLimits,
  elsewhere?: () => Promise<Pick<Listeners, 'api' | 'reading' | 'documents'>>,
): Promise<Listeners> {
  const isTrustedProxy = trustedProxies(config.trustedProxies);
  const { reading, httpcrypt, metrics, admin } = config;
  const opened: Listener[] = [];
  const open = async (settings: ListenerConfig, member: Parameters<typeof listenFor>[1]) => {
    const listener = await listenFor(settings, member, isTrustedProxy, limits);
    opened.push(listener);
    return listener;
  };
  try {
    const there = await elsewhere?.();
    opened.push(...Object.values(there ?? {}));
    return {
      api: there?.api ?? (await open(config, 'listen')),
      reading: there?.reading ?? (await open(reading, 'reading.listen')),
      documents: there?.documents ?? (await open(reading.documents, 'reading.documents.listen')),
      httpcrypt: httpcrypt && (await open({ listen: httpcrypt.listen }, 'httpcrypt.listen')),
      metrics: metrics && (await open(metrics, 'metrics.listen')),
      admin: admin && (await open(admin, 'admin.listen')),
    };
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

/** Lists open listeners. */
export function listenersOf(listeners: Listeners): Listener[] {
  return Object.values(listeners).filter((listener) => listener !== undefined);
}

/** Lets running requests end. */
export async function closeListeners(listeners: Listeners): Promise<void> {
  await closeAll(listenersOf(listeners));
}

async function closeAll(listeners: readonly Listener[]): Promise<void> {
  await Promise.all(listeners.map(({ close }) => close()));
}
