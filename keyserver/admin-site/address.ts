/** The address of the operators' pages. */
import { toHex } from '../../core/encoding/hex.ts';
import type { ListenerConfig } from '../config/config.ts';
import { readSecret } from '../storage/secrets.ts';
import type { KeyServerState } from '../storage/state.ts';

/**
 * Finds the origin of the operators' pages: on loopback a host below `localhost` that only operators know, and the same at every start. Cookies do
 * not tell ports apart, so another program at a port of a host that it could name would be sent the session.
 *
 * @param port - listened on
 */
export async function adminOrigin(
  state: Pick<KeyServerState, 'database' | 'vault'>,
  { origin }: Pick<ListenerConfig, 'origin'>,
  port: number,
): Promise<string> {
  if (origin !== undefined) return origin;
  return `http://wispr-admin-${toHex((await readSecret(state, 'operators')).subarray(0, 8))}.localhost:${port}`;
}
