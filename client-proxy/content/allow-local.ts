/** `--allow-local HOST[:PORT]`: the reader's permission for what pages may not reach otherwise, on this computer or in its own network. */
import { ReaderError } from '../errors.ts';
import { type AddressRange, isInRange, parseRange } from './local-addresses.ts';

/** One permission: a name with all its addresses, or a block of addresses with all their names. */
export interface AllowLocal {
  /** As it was typed. */
  readonly text: string;
  readonly host: string | undefined;
  readonly range: AddressRange | undefined;
  /** `undefined`: every port. */
  readonly port: number | undefined;
}

const FIELDS = /^(?:\[([0-9A-Fa-f:.]+(?:\/\d+)?)\]|([^:[\]/]+(?:\/\d+)?))(?::(\d{1,5}))?$/;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** @throws ReaderError `allow-local-malformed` */
export function parseAllowLocal(text: string): AllowLocal {
  const [matched, bracketed, plain = '', digits] = FIELDS.exec(text) ?? [];
  const range = parseRange(bracketed ?? plain);
  const host = plain.toLowerCase().replace(/\.$/, '');
  const port = digits === undefined ? undefined : Number(digits);
  const isSound = range !== undefined || (bracketed === undefined && NAME.test(host) && !/^[\d.]+$/.test(host));
  if (matched === undefined || !isSound || (port !== undefined && (port < 1 || port > 65_535))) throw malformed(text);
  return { text, host: range ? undefined : host, range, port };
}

/** Whether a connection to one address of `host` is permitted. */
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

function malformed(text: string): ReaderError {
  return new ReaderError('allow-local-malformed', `not of the form HOST[:PORT]: ${text}`, {
    typed: true,
    hint: 'a name, an address or a block of addresses, those of IPv6 in brackets: printer.lan:631, 192.168.1.0/24, [::1]:8080',
  });
}
