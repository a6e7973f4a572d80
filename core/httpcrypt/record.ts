/** How a key server announces its X25519 keys: docs/spec/httpcrypt.md, "Server keys". */
import { ed25519Sign, ed25519Verify, sha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, lengthPrefixed, u64, utf8 } from '../encoding/bytes.ts';
import { fromHex, toHex } from '../encoding/hex.ts';
import { ChannelError } from './errors.ts';

const LABEL = utf8('wispr/1 httpcrypt server key');
const ID_LABEL = utf8('wispr/1 httpcrypt key id\n');
const TEXT_PREFIX = 'wispr/1 httpcrypt=';
const KEY_LENGTH = 32;
const RECORD_LENGTH = 104;
/** Of an address, 12 bits say that it is one of a record, 4 which, and 14 bytes are the record's. */
const ADDRESSES = 8;
const PART_LENGTH = 14;
const ADDRESS_PREFIX = '2a0';
export const SERVER_KEY_ID_LENGTH = 10;
/** Bytes of an answer to OPTIONS. */
export const MAXIMUM_RECORD_TEXT = 256;

/** The public half of a key server's X25519 key. */
export interface ServerKey {
  readonly publicKey: Uint8Array;
  readonly id: Uint8Array;
  /** Seconds since 1970. */
  readonly notAfter: number;
}

export async function serverKey(publicKey: Uint8Array, notAfter: number): Promise<ServerKey> {
  const digest = await sha256(concat(ID_LABEL, publicKey));
  return { publicKey, id: digest.subarray(0, SERVER_KEY_ID_LENGTH), notAfter };
}

/** The record of a server key. @param url - of the endpoint @param channelKey - the Ed25519 secret key */
export function signRecord({ publicKey, notAfter }: ServerKey, url: string, channelKey: Uint8Array): Uint8Array {
  const announced = concat(publicKey, u64(notAfter));
  return concat(announced, ed25519Sign(signedBytes(url, announced), channelKey));
}

/**
 * Steps C1 to C3.
 *
 * @param endpoint - from the descriptor: where it is, and the channel key
 * @param now - seconds since 1970
 * @throws ChannelError `channel-key-refused`
 */
export async function verifyRecord(
  record: Uint8Array | undefined,
  endpoint: { readonly url: string; readonly key: Uint8Array },
  now: number,
): Promise<ServerKey> {
  if (record?.length !== RECORD_LENGTH) throw refused('it is not of the right form');
  const [announced, signature] = [record.subarray(0, 40), record.subarray(40)];
  if (!(await ed25519Verify(signature, signedBytes(endpoint.url, announced), endpoint.key)))
    throw refused('the channel key of the key server has not signed it for this address');
  const notAfter = new DataView(announced.buffer, announced.byteOffset).getBigUint64(KEY_LENGTH);
  if (BigInt(Math.ceil(now)) > notAfter) throw refused('its time is over');
  return serverKey(announced.subarray(0, KEY_LENGTH), Number(notAfter));
}

/** What a TXT record says, and an answer to OPTIONS. */
export function recordText(record: Uint8Array): string {
  return `${TEXT_PREFIX}${toBase64url(record)}`;
}

/** The record in such a text; `undefined` if there is none. */
export function recordFromText(text: string): Uint8Array | undefined {
  return text.startsWith(TEXT_PREFIX) ? fromBase64url(text.slice(TEXT_PREFIX.length), RECORD_LENGTH) : undefined;
}

/** The IPv6 addresses that carry a record, in full: eight groups of four digits. */
export function recordAddresses(record: Uint8Array): string[] {
  const padded = concat(record, new Uint8Array(ADDRESSES * PART_LENGTH - record.length));
  return Array.from({ length: ADDRESSES }, (_, index) => {
    const part = toHex(padded.subarray(index * PART_LENGTH, (index + 1) * PART_LENGTH));
    return `${ADDRESS_PREFIX}${index}${part}`.replace(/(.{4})(?!$)/g, '$1:');
  });
}

/** The record that addresses carry, in any order, written in full or shortened; `undefined` if they are not those of one. */
export function recordFromAddresses(addresses: readonly string[]): Uint8Array | undefined {
  const sorted = addresses.map(expand).sort();
  if (sorted.length !== ADDRESSES || sorted.some((digits, index) => !digits?.startsWith(`${ADDRESS_PREFIX}${index}`)))
    return undefined;
  const whole = fromHex(sorted.map((digits) => digits?.slice(4)).join(''));
  return whole?.subarray(RECORD_LENGTH).every((byte) => byte === 0) ? whole.subarray(0, RECORD_LENGTH) : undefined;
}

/** The 32 digits of an IPv6 address; `undefined` for what is none. */
function expand(address: string): string | undefined {
  const url = `http://[${address}]`;
  if (!/^[0-9a-f:]+$/i.test(address) || !URL.canParse(url)) return undefined;
  const [before = '', after] = new URL(url).hostname.slice(1, -1).split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const [head, tail] = [groups(before), groups(after)];
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join('');
}

function signedBytes(url: string, announced: Uint8Array): Uint8Array {
  return concat(lengthPrefixed(LABEL, utf8(url)), announced);
}

function refused(what: string): ChannelError {
  return new ChannelError('channel-key-refused', `a server key for HTTPCrypt was refused: ${what}`);
}
