/** The doors of a running key server: what listens, and for whom. */
import type { DoorConfig, KeyServerConfig } from '../config/config.ts';
import { trustedProxies } from './client-address.ts';
import { type Listener, listenFor } from './listen.ts';

/** What listens; the last three may be left out. */
export interface Doors {
  readonly api: Listener;
  readonly reading: Listener;
  readonly documents: Listener;
  readonly httpcrypt: Listener | undefined;
  readonly metrics: Listener | undefined;
  readonly admin: Listener | undefined;
}

/**
 * Opens all doors, or none.
 *
 * @throws KeyServerError `configuration-invalid`, `certificate-…`, `listen-failed`
 */
export async function openDoors(config: KeyServerConfig): Promise<Doors> {
  const isTrustedProxy = trustedProxies(config.trustedProxies);
  const { reading, httpcrypt, metrics, admin } = config;
  const opened: Listener[] = [];
  const open = async (door: DoorConfig, member: Parameters<typeof listenFor>[1]) => {
    const listener = await listenFor(door, member, isTrustedProxy);
    opened.push(listener);
    return listener;
  };
  try {
    return {
      api: await open(config, 'listen'),
      reading: await open(reading, 'reading.listen'),
      documents: await open(reading.documents, 'reading.documents.listen'),
      httpcrypt: httpcrypt && (await open({ listen: httpcrypt.listen }, 'httpcrypt.listen')),
      metrics: metrics && (await open(metrics, 'metrics.listen')),
      admin: admin && (await open(admin, 'admin.listen')),
    };
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

/** Those that listen. */
export function listenersOf(doors: Doors): Listener[] {
  return Object.values(doors).filter((door) => door !== undefined);
}

/** Lets running requests end. */
export async function closeDoors(doors: Doors): Promise<void> {
  await closeAll(listenersOf(doors));
}

async function closeAll(listeners: readonly Listener[]): Promise<void> {
  await Promise.all(listeners.map(({ close }) => close()));
}
