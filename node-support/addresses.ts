/** Addresses on this computer or in its own network, in any form: programs connect for others to none of them, unless `--allow-local` permits it. */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;

/** A block of addresses; `bits` of its first part count. */
export interface AddressRange {
  readonly address: Address;
  readonly bits: number;
}

type OwnAddresses = ReturnType<typeof networkInterfaces>;

/** Blocks that the Internet's registries have assigned: everything else is for special uses, or unassigned. */
const PUBLIC_IPV6 = ipaddr.IPv6.parse('2000::');
const PUBLIC_IPV6_BITS = 3;

/** Networks wider than these are no neighbourhood: what is "on" them may be anywhere. */
const WIDEST_NEIGHBOURHOOD = { ipv4: 16, ipv6: 48 } as const;

/** Tells whether `text` is one address without a zone, or `ADDRESS/BITS`. */
export function isRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/** @returns the block of one address without a zone, or of `ADDRESS/BITS`; `undefined` for what is neither */
export function parseRange(text: string): AddressRange | undefined {
  const [host = '', bits, ...rest] = text.split('/');
  if (rest.length > 0 || !isPlainAddress(host) || host.includes('%')) return undefined;
  const address = ipaddr.parse(host);
  const all = address.kind() === 'ipv4' ? 32 : 128;
  if (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > all)) return undefined;
  return { address, bits: bits === undefined ? all : Number(bits) };
}

/** Tells whether an address lies in a block; an address of IPv4 written in IPv6 is the same address. */
export function isInRange(address: string, { address: first, bits }: AddressRange): boolean {
  if (!isPlainAddress(address)) return false;
  const parsed = ipaddr.process(address);
  return parsed.kind() === first.kind() && parsed.match(first, bits);
}

/**
 * Tells whether an address is for use on this computer or in a private network, or leads there: loopback, private, link-local, shared,
 * multicast, reserved and unassigned ones, addresses of IPv4 of these kinds inside IPv6, and whatever is in the same network as this computer.
 * Any other text counts as one.
 *
 * @param own - this computer's addresses, as the system lists them
 */
export function isLocalAddress(address: string, own: OwnAddresses = networkInterfaces()): boolean {
  return !isPlainAddress(address) || !isPublic(ipaddr.parse(address)) || isNeighbour(address, own);
}

function isPublic(address: Address): boolean {
  const range = address.range();
  if (address instanceof ipaddr.IPv4) return range === 'unicast';
  if (range === 'ipv4Mapped') return isPublic(address.toIPv4Address());
  if (range === 'unicast') return address.match(PUBLIC_IPV6, PUBLIC_IPV6_BITS);
  const embedded = embeddedIPv4(address);
  return embedded !== undefined && isPublic(embedded);
}

/** The address of IPv4 to which a gateway between the two passes: NAT64 with its well-known prefix (RFC 6052), and 6to4 (RFC 3056). */
function embeddedIPv4(address: Address): Address | undefined {
  const bytes = address.toByteArray();
  if (address.match(ipaddr.IPv6.parse('64:ff9b::') as never, 96)) return ipaddr.fromByteArray(bytes.slice(12));
  return address.range() === '6to4' ? ipaddr.fromByteArray(bytes.slice(2, 6)) : undefined;
}

/** Tells whether it is this computer under any of its addresses, or with IPv6 a device around it, which has a public address. */
function isNeighbour(address: string, own: OwnAddresses): boolean {
  const all = Object.values(own).flatMap((addresses) => addresses ?? []);
  return all.some(({ address: mine, cidr }) => {
    const range = cidr === null ? undefined : parseRange(cidr);
    if (range === undefined) return mine === address;
    const isNear = range.bits >= WIDEST_NEIGHBOURHOOD[range.address.kind()];
    return isNear
      ? isInRange(address, range)
      : isInRange(address, { ...range, bits: range.address.kind() === 'ipv4' ? 32 : 128 });
  });
}

/** An address in its one usual spelling of four decimal numbers, or of IPv6. */
function isPlainAddress(text: string): boolean {
  return isIP(text) > 0 && (ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text));
}

/** Permission for a name with all its addresses, or for a block of addresses with all their names. */
export interface AllowLocal {
  /** Text as it was typed. */
  readonly text: string;
  readonly host: string | undefined;
  readonly range: AddressRange | undefined;
  /** `undefined`: every port. */
  readonly port: number | undefined;
}

const RULE = /^(?:\[([0-9A-Fa-f:.]+(?:\/\d+)?)\]|([^:[\]/]+(?:\/\d+)?))(?::(\d{1,5}))?$/;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** @returns `undefined` for what is not of the form HOST[:PORT] or ADDRESS/BITS[:PORT] */
export function readAllowLocal(text: string): AllowLocal | undefined {
  const [matched, bracketed, plain = '', digits] = RULE.exec(text) ?? [];
  const range = parseRange(bracketed ?? plain);
  const host = plain.toLowerCase().replace(/\.$/, '');
  const port = digits === undefined ? undefined : Number(digits);
  const isSound = range !== undefined || (bracketed === undefined && NAME.test(host) && !/^[\d.]+$/.test(host));
  if (matched === undefined || !isSound || (port !== undefined && (port < 1 || port > 65_535))) return undefined;
  return { text, host: range ? undefined : host, range, port };
}

/** Tells whether a connection to one address of `host` is permitted. */
export function isAllowed(
  rules: readonly AllowLocal[],
  { host, port }: { readonly host: string; readonly port: number },
  address: string,
): boolean {
  return rules.some(
    (rule) =>
      (rule.port === undefined || rule.port === port) &&
      (rule.range ? isInRange(address, rule.range) : rule.host === host.toLowerCase()),
  );
}
