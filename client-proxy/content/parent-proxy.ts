/** The proxy that all plain HTTP goes through, where the reader named one. Its URL may hold a password: no message shows it. */
import { reasonOf } from '../../core/errors.ts';
import { ReaderError } from '../errors.ts';
import { unbracket } from './connect-to.ts';
import { connectionReason } from './connection-reason.ts';
import type { Connector } from './connector.ts';

export interface ParentAddress {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  /** Without credentials. */
  readonly origin: string;
  /** The same as `host:port`, for the log. */
  readonly address: string;
  /** `name:password`; `undefined` where the URL has none. */
  readonly credentials: string | undefined;
}

/** @throws ReaderError `parent-proxy-malformed`, which does not repeat what was given */
export function parseParentProxy(text: string): ParentAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' || url.pathname !== '/' || url.search || url.hash)
    throw malformed('what was given for the parent proxy is not the URL of an HTTP proxy', 'for example ');
  const { username, password, origin, hostname } = url;
  const port = Number(url.port) || 80;
  return {
    host: unbracket(hostname),
    port,
    origin,
    address: `${hostname}:${port}`,
    credentials: username || password ? `${decode(username)}:${decode(password)}` : undefined,
  };
}

/**
 * No host is to be blamed for a parent proxy that is not there, and no other one would help. Where it is, the page that asked need not learn;
 * the cause has it, for the log.
 */
export function reachingParent(connect: Connector, address: string): Connector {
  return async (wanted) => {
    try {
      return await connect(wanted);
    } catch (error) {
      if (error instanceof ReaderError) throw error;
      const message = `the parent proxy could not be reached: ${connectionReason(error)}`;
      const cause = new Error(`${address}: ${reasonOf(error)}`, { cause: error });
      throw new ReaderError('parent-proxy-unreachable', message, { cause });
    }
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed(
      'the name or the password in the URL of the parent proxy has a % that begins no character',
      'write %25 for %; for example ',
    );
  }
}

/** The error of the decoding is left out: it would be kept as the cause, with the text. */
function malformed(message: string, advice: string): ReaderError {
  return new ReaderError('parent-proxy-malformed', message, {
    typed: true,
    hint: `${advice}http://127.0.0.1:3128; it is not shown here because it may hold a password`,
  });
}
