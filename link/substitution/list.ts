/** The list of certificates in extension 0x0099: docs/spec/link.md section 4. */
import { number, readWhole } from '../tls/cursor.ts';

const ENTRY = 8;

export interface List {
  /** First bytes of SHA-256 of the certificates that the near relay holds. */
  readonly server: readonly Buffer[];
  /** The same of certificates that clients have shown. */
  readonly client: readonly Buffer[];
}

export function writeList({ server, client }: List): Buffer {
  return Buffer.concat([number(server.length, 1), ...server, number(client.length, 1), ...client]);
}

/** @returns `undefined` for what is no list */
export function readList(data: Buffer): List | undefined {
  return readWhole(data, (cursor) => {
    const entries = () => Array.from({ length: cursor.number(1) }, () => cursor.read(ENTRY));
    return { server: entries(), client: entries() };
  });
}
