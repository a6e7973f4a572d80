/** `--connect-to HOST1:PORT1:HOST2:PORT2` with curl's meaning: requests to HOST1:PORT1 connect to HOST2:PORT2 instead. */
import { ReaderError } from '../errors.ts';

/** A redirection; where curl allows an empty field, `undefined`. */
export interface ConnectTo {
  readonly fromHost: string | undefined;
  readonly fromPort: number | undefined;
  readonly toHost: string | undefined;
  readonly toPort: number | undefined;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const FIELDS = /^(\[[0-9A-Fa-f:.]*\]|[^:[\]]*):(\d{0,5}):(\[[0-9A-Fa-f:.]*\]|[^:[\]]*):(\d{0,5})$/;

/** @throws ReaderError `argument-invalid` */
export function parseConnectTo(text: string): ConnectTo {
  const [matched, fromHost, fromPort, toHost, toPort] = FIELDS.exec(text) ?? [];
  const ports = [fromPort, toPort].map((port) => (port ? Number(port) : undefined));
  if (matched === undefined || ports.some((port) => port !== undefined && (port < 1 || port > 65_535))) {
    throw new ReaderError('argument-invalid', `not of the form HOST1:PORT1:HOST2:PORT2: ${text}`, { typed: true });
  }
  return { fromHost: nameOf(fromHost), fromPort: ports[0], toHost: nameOf(toHost), toPort: ports[1] };
}

/** Endpoint to connect to instead; `chosen`: the reader named the host, by a rule. */
export interface Redirected extends Endpoint {
  readonly chosen: boolean;
}

export function formatConnectTo({ fromHost, fromPort, toHost, toPort }: ConnectTo): string {
  const host = (name = '') => (name.includes(':') ? `[${name}]` : name);
  return `${host(fromHost)}:${fromPort ?? ''}:${host(toHost)}:${toPort ?? ''}`;
}

/** Finds where to connect for `endpoint`; the first rule that fits decides. Names for certificates and `Host` stay as they were. */
export function redirect(endpoint: Endpoint, rules: readonly ConnectTo[]): Redirected {
  const rule = rules.find(
    ({ fromHost, fromPort }) =>
      (fromHost === undefined || fromHost === endpoint.host.toLowerCase()) &&
      (fromPort === undefined || fromPort === endpoint.port),
  );
  const { toHost, toPort } = rule ?? {};
  return { host: toHost ?? endpoint.host, port: toPort ?? endpoint.port, chosen: toHost !== undefined };
}

/** Sockets want IPv6 addresses without the brackets that URLs and `Host` have around them. */
export function unbracket(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

function nameOf(field: string | undefined): string | undefined {
  return field ? unbracket(field).toLowerCase() : undefined;
}
