/** Opens the hashing that the configuration says. */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import type { DispatcherConfig } from '../config/schema.ts';
import { Dispatcher } from './dispatcher.ts';
import type { Hashing } from './hashing.ts';
import { Member } from './member.ts';

/**
 * Hashing by way of a dispatcher, or as one.
 *
 * @param secret - 32 bytes that all key servers of the database know
 * @throws KeyServerError `listen-failed`
 */
export async function openDispatcher(
  { listen, connect }: DispatcherConfig,
  secret: Uint8Array,
  log: Logger,
): Promise<Hashing> {
  const slots = availableParallelism();
  if (listen) return Dispatcher.start({ listen, secret, slots, log });
  const { hostname, port } = new URL(`tls://${connect}`);
  return new Member({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), secret, slots, log });
}
