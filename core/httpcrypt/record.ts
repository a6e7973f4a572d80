/** How a key server announces its X25519 keys: docs/spec/httpcrypt.md, "Server keys". */
import { ed25519Sign, ed25519Verify, sha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, lengthPrefixed, u64, utf8 } from '../encoding/bytes.ts';
import { fromHex, toHex } from '../encoding/hex.ts';
import { ChannelError } from './errors.ts';

const LABEL = utf8('wispr/1 httpcrypt server key');
const ID_LABEL = utf8('wispr/1 httpcrypt key id\n');
const KEY_LENGTH = 32;
const RECORD_LENGTH = 104;
/** How a record is spread over addresses: bytes of it in each, and their number. */
const IPV6 = { part: 14, count: 8 };
const IPV4 = { part: 3, count: 35 };
/** Hexadecimal, before the number of an IPv6 address; and what an IPv4 address's number is added to. */
const IPV6_PREFIX = '2a0';
const IPV4_FIRST = 64;
export const SERVER_KEY_ID_LENGTH = 10;
/** Bytes of an answer to OPTIONS, with what is added to it. */
export const MAXIMUM_RECORD_TEXT = 512;

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

/** What a TXT record says, and an answer to OPTIONS begins with. */
export function recordText(record: Uint8Array): string {
  return toBase64url(record);
}

/** The record in such a text; `undefined` if there is none. */
export function recordFromText(text: string): Uint8Array | undefined {
  return fromBase64url(text.split('\n', 1)[0], RECORD_LENGTH);
}

/** The addresses that carry a record: 8 of IPv6, in full, or 35 of IPv4. */
export function recordAddresses(record: Uint8Array, family: 4 | 6): string[] {
  if (family === 4) return partsOf(record, IPV4).map((part, index) => [IPV4_FIRST + index, ...part].join('.'));
  return partsOf(record, IPV6).map((part, index) =>
    `${IPV6_PREFIX}${index}${toHex(part)}`.replace(/(.{4})(?!$)/g, '$1:'),
  );
}

/** The record that addresses of one family carry, in any order and spelling; `undefined` if they are not those of one. */
export function recordFromAddresses(addresses: readonly string[]): Uint8Array | undefined {
  return addresses[0]?.includes(':') ? fromIpv6(addresses) : fromIpv4(addresses);
}

function fromIpv6(addresses: readonly string[]): Uint8Array | undefined {
  const sorted = addresses.map(expand).sort();
  if (sorted.some((digits, index) => !digits?.startsWith(`${IPV6_PREFIX}${index}`))) return undefined;
  return joined(fromHex(sorted.map((digits) => digits?.slice(4)).join('')), IPV6);
}

function fromIpv4(addresses: readonly string[]): Uint8Array | undefined {
  const sorted = addresses.map((address) => address.split('.').map(Number)).sort(([a = 0], [b = 0]) => a - b);
  const isPart = (bytes: readonly number[], index: number) =>
    bytes.length === 4 && bytes[0] === IPV4_FIRST + index && bytes.every((byte) => byte >= 0 && byte <= 255);
  return sorted.every(isPart) ? joined(Uint8Array.from(sorted.flatMap(([, ...part]) => part)), IPV4) : undefined;
}

type Spread = typeof IPV6;

function partsOf(record: Uint8Array, { part, count }: Spread): Uint8Array[] {
  const padded = concat(record, new Uint8Array(count * part - record.length));
  return Array.from({ length: count }, (_, index) => padded.subarray(index * part, (index + 1) * part));
}

function joined(whole: Uint8Array | undefined, { part, count }: Spread): Uint8Array | undefined {
  if (whole?.length !== part * count || whole.subarray(RECORD_LENGTH).some((byte) => byte !== 0)) return undefined;
  return whole.subarray(0, RECORD_LENGTH);
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
