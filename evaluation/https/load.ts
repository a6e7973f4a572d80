/** Facts of a load that both sides know. */

/** TLS 1.2 is with RSA-2048 as in the paper's year, TLS 1.3 with ECDSA. */
export const PORTS = { HTTP: 80, 'TLS 1.2': 443, 'TLS 1.3': 8443 };
export type Way = keyof typeof PORTS;
export const LONGEST_HEAD = 1 << 20;

/** Fills a head up to this length: without it, Node.js sends about a hundred bytes. */
export function fillTo(length: number): { readonly 'X-Fill': string } {
  return { 'X-Fill': 'x'.repeat(Math.max(0, length - 100)) };
}

/** @param pages - places in recordings.json, in the order of their loads @param root - PEM of the authority */
export interface LoadSetting {
  readonly way: Way;
  readonly pages: readonly number[];
  readonly root: string;
}

/** Milliseconds of handshakes and requests; bytes both ways, `own` of which are no HTTP: handshakes, tickets and record heads of TLS. */
export interface Connection {
  readonly shaken: number;
  readonly used: number;
  readonly bytes: number;
  readonly own: number;
}

/** Milliseconds of a page, and of the client's processor. */
export interface Load {
  readonly page: number;
  readonly milliseconds: number;
  readonly processor: number;
  readonly connections: readonly Connection[];
}
