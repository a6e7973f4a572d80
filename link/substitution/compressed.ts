/** CompressedCertificate: docs/spec/link.md section 5. */
import { createHash } from 'node:crypto';
import { LIMITS } from '../limits.ts';
import { type Cursor, number, prefix, readWhole } from '../tls/cursor.ts';
import { MESSAGE, readCertificates, writeCertificates, writeMessage } from '../tls/messages.ts';
import { TLS12, writeRecord } from '../tls/records.ts';
import type { Group } from './group.ts';
import { ProtocolViolation } from './passage.ts';

const REFERENCE = 16;
const ENTRY = 8;
const KIND = { reference: 0, whole: 1 } as const;

/** SHA-256. */
export function hashOf(certificate: Buffer): Buffer {
  return createHash('sha256').update(certificate).digest();
}

/** Returns a certificate's entry in a list. @param hash - SHA-256 */
export function entryOf(hash: Buffer): Buffer {
  return hash.subarray(0, ENTRY);
}

/** Certificates by their hashes, for the time of a connection. */
export class CertificateIndex {
  readonly #byReference = new Map<string, Buffer>();

  constructor(certificates: readonly Buffer[]) {
    for (const each of certificates) this.#byReference.set(referenceOf(hashOf(each)).toString('hex'), each);
  }

  get(reference: Buffer): Buffer | undefined {
    return this.#byReference.get(reference.toString('hex'));
  }
}

function referenceOf(hash: Buffer): Buffer {
  return hash.subarray(0, REFERENCE);
}

/** The chain of a group that may be substituted; `undefined`: it passes unchanged. */
export function chainOf({ body, isCompressed }: Group): Buffer[] | undefined {
  const chain = isCompressed ? undefined : readCertificates(body);
  return chain !== undefined && isBounded(chain) ? chain : undefined;
}

function isBounded(chain: readonly Buffer[]): boolean {
  const lengths = chain.map((each) => each.length);
  return chain.length > 0 && chain.length <= LIMITS.chain && Math.max(...lengths) < LIMITS.certificate;
}

/** @param held - bit i: this side holds certificate i of the other's list @returns `undefined` if too long */
export function compress(
  group: Group,
  chain: readonly Buffer[],
  entries: readonly Buffer[],
  held = 0,
): Buffer | undefined {
  const lengths = group.lengths.slice(0, -1);
  const body = Buffer.concat([
    number(held, 1),
    number(lengths.length, 1),
    ...lengths.map((length) => number(length, 2)),
    ...chain.map((certificate) => compressOne(certificate, entries)),
  ]);
  const content = Buffer.concat([group.front, writeMessage(MESSAGE.compressedCertificate, body), group.behind]);
  return content.length > LIMITS.record ? undefined : writeRecord(TLS12, content);
}

function compressOne(certificate: Buffer, entries: readonly Buffer[]): Buffer {
  const hash = hashOf(certificate);
  return isListed(hash, entries)
    ? Buffer.concat([number(KIND.reference, 1), referenceOf(hash)])
    : Buffer.concat([number(KIND.whole, 1), prefix(certificate, 3)]);
}

export function isListed(hash: Buffer, entries: readonly Buffer[]): boolean {
  return entries.some((entry) => entry.equals(entryOf(hash)));
}

interface Rebuilt {
  /** The records, byte for byte as they were. */
  readonly bytes: Buffer;
  readonly chain: readonly Buffer[];
  readonly held: number;
}

/** Checks L1 to L4, and puts the certificates back. @throws ProtocolViolation */
export function rebuild(group: Group, known: CertificateIndex): Rebuilt {
  const message = readWhole(group.body, readBody); // L1
  if (message === undefined || message.entries.length === 0 || message.entries.length > LIMITS.chain)
    throw new ProtocolViolation('a CompressedCertificate of another form');
  const chain = message.entries.map((entry) => certificateOf(entry, known));
  const content = Buffer.concat([group.front, writeCertificates(chain), group.behind]);
  return { bytes: Buffer.concat(cut(content, message.lengths)), chain, held: message.held };
}

interface Entry {
  readonly kind: number;
  readonly bytes: Buffer;
}

function readBody(cursor: Cursor) {
  const held = cursor.number(1);
  const lengths = Array.from({ length: cursor.number(1) }, () => cursor.number(2));
  const entries: Entry[] = [];
  while (!cursor.isAtEnd) {
    const kind = cursor.number(1);
    entries.push({ kind, bytes: kind === KIND.reference ? cursor.read(REFERENCE) : cursor.prefixed(3) });
  }
  return { held, lengths, entries };
}

function certificateOf({ kind, bytes }: Entry, known: CertificateIndex): Buffer {
  if (kind !== KIND.reference && kind !== KIND.whole) throw new ProtocolViolation('an entry of another kind'); // L1
  const certificate = kind === KIND.reference ? known.get(bytes) : bytes;
  if (certificate === undefined) throw new ProtocolViolation('a reference to what was not listed'); // L2
  if (certificate.length >= LIMITS.certificate) throw new ProtocolViolation('a certificate that is too long'); // L3
  return certificate;
}

/** The records that a content was in. */
function cut(content: Buffer, lengths: readonly number[]): Buffer[] {
  const last = content.length - lengths.reduce((sum, length) => sum + length, 0);
  let at = 0;
  return [...lengths, last].map((length) => {
    if (length < 1 || length > LIMITS.record) throw new ProtocolViolation('record lengths that do not fit'); // L4
    at += length;
    return writeRecord(TLS12, content.subarray(at - length, at));
  });
}
