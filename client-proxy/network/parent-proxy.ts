/** The proxy that all plain HTTP goes through, where the reader configured one. Its URL may hold a password: no message shows it. */
import { CodedError, reasonOf } from '../../core/errors.ts';
import { ReaderError } from '../errors.ts';
import { unbracket } from './connect-to.ts';
import type { Connector } from './connector.ts';
import { connectionReason, isBrokenOff, isOtherProtocol } from './failures.ts';

/** Status that no host answers with (RFC 9110 section 15.5.8). A browser would take it for a request of the Reader's. */
const PROXY_AUTHENTICATION_REQUIRED = 407;

/** Distinguishes failures of the parent proxy from those of hosts behind it: a proxy that works answers 502 for a host that fails. */
export class ParentProxy {
  /** Host, without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  readonly origin: string;
  readonly hasCredentials: boolean;
  /** Fields that carry the credentials. Names and values alternate. */
  readonly headers: readonly string[];
  /** Host and port, for the log. */
  readonly #address: string;

  /** @throws ReaderError `argument-invalid`, which does not repeat `text` */
  constructor(text: string) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== 'http:' || url.pathname !== '/' || url.search || url.hash)
      throw malformed('not the URL of an HTTP proxy, such as http://127.0.0.1:3128');
    const { username, password, origin, hostname } = url;
    this.host = unbracket(hostname);
    this.port = Number(url.port) || 80;
    this.origin = origin;
    this.#address = `${hostname}:${this.port}`;
    this.hasCredentials = username !== '' || password !== '';
    const credentials = Buffer.from(`${decode(username)}:${decode(password)}`).toString('base64');
    this.headers = this.hasCredentials ? ['Proxy-Authorization', `Basic ${credentials}`] : [];
  }

  /** Reports a parent proxy that cannot be connected to as such. The address stands in the cause only, for the log. */
  reaching(connect: Connector): Connector {
    return async (wanted) => {
      try {
        return await connect(wanted);
      } catch (error) {
        if (error instanceof ReaderError) throw error;
        const message = `the parent proxy could not be reached: ${connectionReason(error)}`;
        throw new ReaderError('parent-proxy-unreachable', message, { cause: this.#causeOf(reasonOf(error), error) });
      }
    };
  }

  /** @throws ReaderError `parent-proxy-unreachable` for a 407 */
  checkStatus(status: number | undefined): void {
    if (status !== PROXY_AUTHENTICATION_REQUIRED) return;
    const message = this.hasCredentials
      ? 'the parent proxy did not accept the name and the password that are set for it'
      : 'the parent proxy requires a name and a password';
    throw new ReaderError('parent-proxy-unreachable', message, { cause: this.#causeOf('it answered 407') });
  }

  /** Explains what ended a request before its answer; errors that a host may have caused, such as silence, stay as they are. */
  explain(error: Error): Error {
    if (error instanceof CodedError) return error;
    const isOther = isOtherProtocol(error);
    if (!isOther && !('syscall' in error) && !isBrokenOff(error)) return error;
    const message = isOther
      ? 'what answers at the address of the parent proxy does not speak HTTP'
      : `the parent proxy gave no answer: ${connectionReason(error)}`;
    return new ReaderError('parent-proxy-unreachable', message, { cause: this.#causeOf(reasonOf(error), error) });
  }

  #causeOf(reason: string, cause?: unknown): Error {
    return new Error(`${this.#address}: ${reason}`, { cause });
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The error of the decoding is left out: it would be kept as the cause, with the text.
    throw malformed('name or password in the URL of the parent proxy has a % that begins no character: write %25');
  }
}

function malformed(message: string): ReaderError {
  return new ReaderError('argument-invalid', message, { typed: true });
}
