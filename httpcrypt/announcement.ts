/** The announcement of a server key in DNS: docs/spec/httpcrypt.md, "Server keys". */
import { isIP } from 'node:net';
import { recordAddresses4, recordAddresses6, recordAssociation, recordText } from '../core/httpcrypt/record.ts';
import { writeFileAtomicSync } from '../node-support/files/write-file.ts';
import { ServerKeys, type ServerKeysOptions } from './server-keys.ts';

export interface Announcing extends Pick<ServerKeysOptions, 'now' | 'signer' | 'url'> {
  /** File that a zone includes. */
  readonly zone?: string | undefined;
  readonly rotateMinutes: number;
}

/** Makes server keys, and writes the zone of each. @param failed - hears the system's error where it cannot be written; at first, what it throws is thrown */
export function startAnnounced(
  { zone, rotateMinutes, ...options }: Announcing,
  failed: (error: unknown) => void,
): Promise<ServerKeys> {
  const timeToLive = rotateMinutes * 60;
  const announce = (record: Uint8Array) => {
    try {
      if (zone) writeFileAtomicSync(zone, zoneText(options.url, record, timeToLive), { mode: 0o644 });
    } catch (error) {
      failed(error);
    }
  };
  return ServerKeys.start({ ...options, timeToLive, announce });
}

/** Name of the records of an endpoint in DNS; a host that is an IP address has none. */
export function recordName(url: string): string | undefined {
  const { hostname } = new URL(url);
  return isIP(hostname) > 0 || hostname.startsWith('[') ? undefined : `httpcrypt.${hostname}`;
}

/** The records as a zone file has them. */
export function zoneText(url: string, record: Uint8Array, timeToLive: number): string {
  const name = recordName(url);
  if (name === undefined) return '';
  const line = (type: string, value: string, at = name) => `${at}. ${timeToLive} IN ${type} ${value}\n`;
  return [
    line('TXT', `"${recordText(record)}"`),
    line('TLSA', `3 1 0 ${recordAssociation(record)}`, `_80._tcp.${name}`),
    ...recordAddresses6(record).map((address) => line('AAAA', address)),
    ...recordAddresses4(record).map((address) => line('A', address)),
  ].join('');
}
