/** Requests for sites that this reader is not connected with: passed on and back untouched, streaming, whatever the method. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { reasonOf } from '../../core/errors.ts';
import type { Upstream } from '../content/upstream.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { forwardedFields } from './header-fields.ts';
import { type AbsoluteTarget, authorityOf } from './request-target.ts';

/** Ports that no browser speaks HTTP to. */
const REFUSED_PORTS = new Set([25]);

const NOTHING = Buffer.alloc(0);
const PROTECTED_MEDIA_TYPE = 'application/cache-protected';

/**
 * @param seenProtected - told where the answer is a protected object, of a site that could be connected; it passes all the same
 * @throws ReaderError `port-refused`, `host-unreachable`, `host-answer`, `loop`; if `response.headersSent`, the caller must end the transfer
 * visibly incomplete
 */
export function passThrough(
  upstream: Upstream,
  target: AbsoluteTarget,
  request: IncomingMessage,
  response: ServerResponse,
  seenProtected: () => unknown,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (REFUSED_PORTS.has(target.port))
      return reject(new ReaderError('port-refused', `port ${target.port} is not for HTTP`));
    const authority = authorityOf(target);
    const wanted = {
      path: target.path,
      method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: forwardedFields(request.rawHeaders, ['host']),
      body: hasBody(request) ? request : null,
    };
    try {
      upstream.dispatch(
        `http://${authority}`,
        authority,
        wanted,
        new PassThroughHandler(response, authority, seenProtected, resolve, reject),
      );
    } catch (error) {
      reject(new ReaderError('bad-request', `the request cannot be passed on: ${reasonOf(error)}`, { cause: error }));
    }
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

class PassThroughHandler implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #host: string;
  readonly #seenProtected: () => unknown;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  #interim = 0;

  constructor(
    response: ServerResponse,
    host: string,
    seenProtected: () => unknown,
    resolve: () => void,
    reject: (error: Error) => void,
  ) {
    this.#response = response;
    this.#host = host;
    this.#seenProtected = seenProtected;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#response.destroyed) controller.abort(new Error('the client left'));
    this.#response.on('close', () => controller.abort(new Error('the client left')));
    this.#response.on('drain', () => controller.resume());
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusMessage = '',
  ): void {
    // Interim answers are for this hop, and each gives the host new time.
    if (status < 200) {
      if (++this.#interim > LIMITS.interimAnswers)
        controller.abort(new ReaderError('host-answer', `${this.#host} gave nothing but interim answers`));
      return;
    }
    if (status === 200 && String(headers['content-type']).startsWith(PROTECTED_MEDIA_TYPE)) this.#seenProtected();
    // A field with a character that HTTP has no place for throws here, and becomes an error of the host.
    this.#response.writeHead(status, statusMessage, forwardedFields(rawFields(controller)));
    // Sends the head now, as Latin-1; `flushHeaders` would write it in UTF-8, and a packet of its own.
    this.#response.write(NOTHING);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#response.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#response.end();
    this.#resolve();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(describe(error, this.#host));
  }
}

/** HTTP's header fields are bytes; Latin-1 keeps each of them. */
function rawFields({ rawHeaders }: Dispatcher.DispatchController): string[] {
  return Array.isArray(rawHeaders)
    ? rawHeaders.map((part) => (typeof part === 'string' ? part : part.toString('latin1')))
    : [];
}

function describe(error: Error & { code?: string }, host: string): ReaderError {
  if (error instanceof ReaderError) return error;
  const broken = /^(?:HPE_|ERR_INVALID_CHAR|ERR_HTTP_|UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH))/.test(
    error.code ?? '',
  );
  return broken || /^bad (?:response|upgrade)$/.test(error.message)
    ? new ReaderError('host-answer', `${host} gave a malformed answer: ${reasonOf(error)}`, { cause: error })
    : new ReaderError('host-unreachable', `${host} could not be reached: ${reasonOf(error)}`, { cause: error });
}
