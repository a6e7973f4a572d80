/** Handshake messages, RFC 5246 section 7.4: `type (1) || length (3) || body`. */
import { type Cursor, number, prefix, readWhole } from './cursor.ts';
import { TLS12 } from './records.ts';

export const MESSAGE = {
  clientHello: 1,
  serverHello: 2,
  certificate: 11,
  supplementalData: 23,
  /** Message of the relays. */
  compressedCertificate: 0x99,
} as const;

export const MESSAGE_HEADER = 4;

/** RFC 8446 section 4.2.1: in a ServerHello, it says that this is TLS 1.3. */
const SUPPORTED_VERSIONS = 43;

export interface Extension {
  readonly type: number;
  readonly bytes: Buffer;
  readonly data: Buffer;
}

/** @returns `undefined` where lengths do not agree */
export function readExtensions(bytes: Buffer): Extension[] | undefined {
  return readWhole(bytes, (cursor) => {
    const found: Extension[] = [];
    while (!cursor.isAtEnd) {
      const start = cursor.offset;
      const [type, data] = [cursor.number(2), cursor.prefixed(2)];
      found.push({ type, data, bytes: bytes.subarray(start, cursor.offset) });
    }
    return found;
  });
}

/** Reads the version that a ServerHello chose. @param body - without its header */
export function versionOf(body: Buffer): 'TLS 1.2' | 'TLS 1.3' | undefined {
  return readWhole(body, (cursor) => {
    const version = cursor.number(2);
    cursor.read(32); // random
    cursor.prefixed(1); // session
    cursor.read(2 + 1); // cipher suite, compression
    const extensions = cursor.isAtEnd ? [] : readExtensions(cursor.prefixed(2));
    if (version !== TLS12 || extensions === undefined) return undefined;
    return extensions.some(({ type }) => type === SUPPORTED_VERSIONS) ? 'TLS 1.3' : 'TLS 1.2';
  });
}

export function writeMessage(type: number, body: Buffer): Buffer {
  return Buffer.concat([number(type, 1), prefix(body, 3)]);
}

/** The certificates of a Certificate message (section 7.4.2). @returns `undefined` where lengths do not agree */
export function readCertificates(body: Buffer): Buffer[] | undefined {
  return readWhole(body, (cursor) => readWhole(cursor.prefixed(3), readList));
}

function readList(cursor: Cursor): Buffer[] {
  const found: Buffer[] = [];
  while (!cursor.isAtEnd) found.push(cursor.prefixed(3));
  return found;
}

/** A Certificate message. */
export function writeCertificates(certificates: readonly Buffer[]): Buffer {
  const list = Buffer.concat(certificates.map((each) => prefix(each, 3)));
  return writeMessage(MESSAGE.certificate, prefix(list, 3));
}
