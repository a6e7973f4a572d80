/** Announcement of a server's X25519 keys: docs/spec/httpcrypt.md, "Server keys". */
import { ed25519Sign, ed25519Verify, randomBytes, sha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, lengthPrefixed, u64, utf8 } from '../encoding/bytes.ts';
import { fromHex, toHex } from '../encoding/hex.ts';
import { ChannelError } from './errors.ts';

const LABEL = utf8('wispr/1 httpcrypt server key');
const ID_LABEL = utf8('wispr/1 httpcrypt key id\n');
const KEY_LENGTH = 32;
const RECORD_LENGTH = 104;
export const SERVER_KEY_ID_LENGTH = 10;
const RECORD_TEXT_LENGTH = 139;
const MAXIMUM_NOISE = 255;
/** Bytes of an answer to OPTIONS. */
export const MAXIMUM_RECORD_ANSWER = RECORD_TEXT_LENGTH + 1 + MAXIMUM_NOISE;

/** Form in which addresses carry a record: so many, each with its number and so many bytes of the record. */
interface AddressForm {
  readonly count: number;
  readonly bytes: number;
  /** Hexadecimal digits in front of the record's, of address `index`. */
  readonly front: (index: number) => string;
}

const AAAA: AddressForm = { count: 8, bytes: 14, front: (index) => `2a0${index}` };
const A: AddressForm = { count: 35, bytes: 3, front: (index) => (64 + index).toString(16) };

/** The public half of a server's X25519 key. */
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
 * @param endpoint - where it is, and the channel key
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
    throw refused('the channel key has not signed it for this address');
  const notAfter = new DataView(announced.buffer, announced.byteOffset).getBigUint64(KEY_LENGTH);
  if (BigInt(Math.ceil(now)) > notAfter) throw refused('its time is over');
  return serverKey(announced.subarray(0, KEY_LENGTH), Number(notAfter));
}

/** The text of a TXT record. */
export function recordText(record: Uint8Array): string {
  return toBase64url(record);
}

/** The record in such a text; `undefined` if there is none. */
export function recordFromText(text: string): Uint8Array | undefined {
  return fromBase64url(text, RECORD_LENGTH);
}

/** The answer to OPTIONS: the text, a line end, and characters of no meaning, so that answers have no length in common. */
export function recordAnswer(record: Uint8Array): string {
  const [length = 0, ...noise] = randomBytes(1 + MAXIMUM_NOISE);
  return `${recordText(record)}\n${toBase64url(Uint8Array.from(noise)).slice(0, length)}`;
}

/** The record in such an answer; `undefined` if there is none. */
export function recordFromAnswer(text: string): Uint8Array | undefined {
  const [first = '', noise, ...rest] = text.split('\n');
  return noise === undefined || rest.length > 0 ? undefined : recordFromText(first);
}

/** Data of a TLSA record, behind its three numbers, 3 1 0. */
export function recordAssociation(record: Uint8Array): string {
  return toHex(record);
}

/** The IPv6 addresses that carry a record, in full: eight groups of four digits. */
export function recordAddresses6(record: Uint8Array): string[] {
  return digitsOf(record, AAAA).map((digits) => digits.replace(/(.{4})(?!$)/g, '$1:'));
}

/** The IPv4 addresses that carry a record. */
export function recordAddresses4(record: Uint8Array): string[] {
  return digitsOf(record, A).map((digits) => (fromHex(digits) ?? []).join('.'));
}

/** The record that addresses of one kind carry, in any order, IPv6 written in full or shortened; `undefined` if they are not those of one. */
export function recordFromAddresses(addresses: readonly string[]): Uint8Array | undefined {
  const form = addresses.length === AAAA.count ? AAAA : A;
  const sorted = addresses.map(form === A ? digits4 : digits6).sort();
  if (sorted.length !== form.count || sorted.some((digits, index) => !digits?.startsWith(form.front(index))))
    return undefined;
  const whole = fromHex(sorted.map((digits, index) => digits?.slice(form.front(index).length)).join(''));
  return whole?.subarray(RECORD_LENGTH).every((byte) => byte === 0) ? whole.subarray(0, RECORD_LENGTH) : undefined;
}

function digitsOf(record: Uint8Array, { count, bytes, front }: AddressForm): string[] {
  const padded = concat(record, new Uint8Array(count * bytes - record.length));
  return Array.from(
    { length: count },
    (_, index) => front(index) + toHex(padded.subarray(index * bytes, (index + 1) * bytes)),
  );
}

/** The 8 digits of an IPv4 address; `undefined` for what is none. */
function digits4(address: string): string | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address)?.slice(1).map(Number);
  return parts?.every((part) => part < 256) ? toHex(Uint8Array.from(parts)) : undefined;
}

/** The 32 digits of an IPv6 address; `undefined` for what is none. */
function digits6(address: string): string | undefined {
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
