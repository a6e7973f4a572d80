/** Beginning of a connection between the relays: docs/spec/link.md section 2. */
import { isIP } from 'node:net';
import { Cursor, Malformed, number, prefix } from '../tls/cursor.ts';
import type { Beginning } from './beginning.ts';

export interface Destination {
  /** A DNS name in lower case or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface TunnelRequest extends Destination {
  readonly isPlain: boolean;
}

export const STATUS = { connected: 0, refused: 1, unreached: 2 } as const;

const VERSION = 1;
const PLAIN = 1;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const AUTHORITY = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/;
const LONGEST_HOST = 253;

/** Reads HOST:PORT or [ADDRESS]:PORT. @param lowestPort - 0 where the system may choose one */
export function parseDestination(text: string, lowestPort: 0 | 1 = 1): Destination | undefined {
  const [, bracketed, plain = '', digits] = AUTHORITY.exec(text) ?? [];
  const destination = { host: (bracketed ?? plain).toLowerCase().replace(/\.$/, ''), port: Number(digits) };
  return isSound(destination, lowestPort) ? destination : undefined;
}

/** HOST:PORT. */
export function formatDestination({ host, port }: Destination): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function isSound({ host, port }: Destination, lowestPort = 1): boolean {
  const isName = NAME.test(host) && host.length <= LONGEST_HOST && !/^[\d.]+$/.test(host);
  return (isName || isIP(host) !== 0) && port >= lowestPort && port <= 65_535;
}

export function writeOpening({ isPlain, host, port }: TunnelRequest): Buffer {
  return Buffer.concat([
    number(VERSION, 1),
    number(isPlain ? PLAIN : 0, 1),
    prefix(Buffer.from(host), 1),
    number(port, 2),
  ]);
}

/** @returns `more` where it is not whole yet; `undefined` for what is none of this version */
export function readOpening(bytes: Buffer): Beginning<TunnelRequest> {
  const cursor = new Cursor(bytes);
  try {
    if (cursor.number(1) !== VERSION) return undefined;
    const flags = cursor.number(1);
    const found = { isPlain: flags === PLAIN, host: cursor.prefixed(1).toString('latin1'), port: cursor.number(2) };
    return flags <= PLAIN && isSound(found) ? { found, rest: bytes.subarray(cursor.offset) } : undefined;
  } catch (error) {
    if (error instanceof Malformed) return 'more';
    throw error;
  }
}
