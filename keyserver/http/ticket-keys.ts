/** The key of TLS tickets, the same at all key servers, so that a session goes on at whichever the reader comes to: docs/cluster.md. */
import type { Logger } from 'pino';
import { randomBytes } from '#primitives';
import { eachMinute } from '../../node-support/each-minute.ts';
import type { KeyServerState } from '../storage/state.ts';

/** Bytes of a key of TLS tickets in Node.js: name, HMAC key and AES key, https://nodejs.org/api/tls.html#servergetticketkeys. */
const LENGTH = 48;
/** Seconds for which one key is used. Sessions of an older one begin with a full handshake. */
export const TICKET_KEY_LIFETIME = 12 * 3600;
/** Place of the key in the database. */
export const TICKET_KEY_ROW = { table: 'ticket_key', row: '1', keyId: 'ticket-key' };

interface Row {
  readonly made: number;
  readonly sealed: Uint8Array;
}

/**
 * The key that all use now; where there is none, or it is too old or of another master key, a new one. Where several key servers make one at
 * the same time, one key prevails.
 *
 * @throws what the database throws
 */
export async function currentTicketKey(state: KeyServerState): Promise<Uint8Array> {
  const { database, vault, now } = state;
  const read = () => database.first<Row>('SELECT made, sealed FROM ticket_key');
  const open = async (row: Row | undefined) => (row ? await vault.tryOpen(TICKET_KEY_ROW, row.sealed) : undefined);
  const row = await read();
  const known = await open(row);
  if (row && known && Math.abs(now() - row.made) < TICKET_KEY_LIFETIME) return known;
  const sql = `INSERT INTO ticket_key (id, made, sealed) VALUES (1, ?, ?)
    ON CONFLICT (id) DO UPDATE SET made = excluded.made, sealed = excluded.sealed WHERE ticket_key.made = ?`;
  await database.run(sql, now(), await vault.seal(TICKET_KEY_ROW, randomBytes(LENGTH)), row?.made ?? 0);
  const made = await open(await read());
  if (!made) throw new Error('the key of TLS tickets does not open');
  return made;
}

/**
 * Has `use` called with the key now and whenever it has changed. Where the database cannot be reached, the last one stays: readers notice nothing.
 *
 * @returns ends that
 */
export async function followTicketKey(
  state: KeyServerState,
  log: Logger,
  use: (key: Uint8Array) => void,
): Promise<() => Promise<void>> {
  let last: Uint8Array | undefined;
  const follow = async () => {
    try {
      const key = await currentTicketKey(state);
      if (!last || Buffer.compare(last, key) !== 0) use(key);
      last = key;
    } catch (error) {
      log.warn({ err: error }, 'the key of TLS tickets stays as it was: the database was not reached');
    }
  };
  const { run, stop } = eachMinute(follow);
  await run();
  return stop;
}
