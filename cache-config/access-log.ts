import type { CacheName } from './parameters.ts';

/** One request, as the server logged it. */
export interface LogLine {
  readonly method: string;
  /** As in the request line: a path for an origin or a reverse cache, a whole URL (without its query) for Squid. */
  readonly url: string;
  readonly status: number;
  /** Bytes of the body that were sent. */
  readonly bytes: number;
  /** Whether a cache answered by itself; absent for an origin. */
  readonly hit?: boolean;
}

/** What varnishncsa is asked to print. */
export const VARNISH_LOG_FORMAT = '%m %U%q %s %b %{Varnish:hitmiss}x';

/** `method url status bytes`, and what a cache adds. Method and URL are empty if the request was not understood. */
const LINE = /^(\S*) (\S*) (\d{3}) (\d+|-)(?: (\S+))?(?: (\S+))?$/;

/**
 * Reads an access log in the format of this project's configurations. An unfinished last line is left out, and so is what
 * Squid writes of connections that ended without a request.
 *
 * @throws {Error} for a line of another form: the configuration and this reader have come apart
 */
export function parseAccessLog(name: CacheName, text: string): LogLine[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.filter((line) => !line.startsWith('- error:')).map((line) => parseLine(name, line));
}

function parseLine(name: CacheName, line: string): LogLine {
  const [, method, url, status, bytes, fifth, sixth] = LINE.exec(line) ?? [];
  if (method === undefined || url === undefined) throw new Error(`not a line of the access log of ${name}: ${line}`);
  const sent = bytes === '-' ? 0 : Number(bytes);
  const common = { method, url, status: Number(status) };
  if (name === 'nginx') return { ...common, bytes: sent };
  if (name === 'varnish') return { ...common, bytes: sent, hit: fifth === 'hit' };
  // Squid counts header and body together, and the header once more.
  return { ...common, bytes: sent - Number(fifth), hit: /_HIT/.test(sixth ?? '') };
}
