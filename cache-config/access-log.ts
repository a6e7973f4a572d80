import type { ServerName } from './parameters.ts';

/** A request, as the server logged it. */
export interface LogLine {
  readonly method: string;
  /** URL of the request line: a path for an origin or a reverse cache, a whole URL (without its query) for Squid. */
  readonly url: string;
  readonly status: number;
  /** Bytes of the body that were sent; HAProxy counts the header too. */
  readonly bytes: number;
  /** Tells whether a cache answered by itself; absent for an origin. */
  readonly hit?: boolean;
}

export const VARNISH_LOG_FORMAT = '%m %U%q %s %b %{Varnish:hitmiss}x';

/** `method url status bytes`, and what a cache adds; some write the request line whole. Method and URL are empty if the request was not understood. */
const LINE = /^(\S*) (\S*)(?: HTTP\/[\d.]+)? (\d{3}) (\d+|-)(?: (\S+))?(?: (\S+))?.*$/;
/** Lines that are no requests: Squid's of connections without one, HAProxy's messages on the same standard output. */
const NO_REQUEST = /^- error:|^Proxy |^<BADREQ>|^\[/;

/** Signs of each cache that it answered by itself, in its fifth field; an expired copy that was asked for again is no hit. */
const HITS: Partial<Record<ServerName, RegExp>> = {
  'nginx-cache': /^HIT$/,
  'apache-cache': /^HIT$/,
  varnish: /^hit$/,
  haproxy: /^<CACHE>$/,
  trafficserver: /^TCP_(?:MEM_|IMS_|CF_)*HIT$/,
};

/** Reads whole lines that are requests. @throws {Error} for another form: configuration and reader have come apart */
export function parseAccessLog(name: ServerName, text: string): LogLine[] {
  const lines = text.split('\n').slice(0, -1);
  if (name === 'caddy') return lines.map(parseCaddy);
  return lines.filter((line) => !NO_REQUEST.test(line)).map((line) => parseLine(name, line));
}

function parseCaddy(line: string): LogLine {
  const { request, status, size } = JSON.parse(line);
  return { method: request.method, url: request.uri, status, bytes: size };
}

function parseLine(name: ServerName, line: string): LogLine {
  const [, method, url, status, bytes, fifth = '', sixth = ''] = LINE.exec(line) ?? [];
  if (method === undefined || url === undefined) throw new Error(`not a line of the access log of ${name}: ${line}`);
  const sent = bytes === '-' ? 0 : Number(bytes);
  const common = { method, url, status: Number(status) };
  // Squid counts header and body together, and the header once more.
  if (name.startsWith('squid')) return { ...common, bytes: sent - Number(fifth), hit: /_HIT/.test(sixth) };
  const hit = HITS[name]?.test(fifth);
  return { ...common, bytes: sent, ...(hit !== undefined && { hit }) };
}
