/** HTTPCrypt for whatever takes a dispatcher of undici. */
import { Dispatcher, util } from 'undici';
import { utf8 } from '../../core/encoding/bytes.ts';
import type { Fields } from '../../core/httpcrypt/binary-http.ts';
import type { ChannelRequest, HttpcryptChannel } from './channel.ts';

type Options = Dispatcher.DispatchOptions;

/**
 * Sends every request to the endpoint of a channel, whatever its origin. `idempotent` makes a POST one that the endpoint takes without a ticket; bodies
 * are strings, bytes and streams. Errors are those of the channel.
 */
export class HttpcryptDispatcher extends Dispatcher {
  readonly channel: HttpcryptChannel;

  constructor(channel: HttpcryptChannel) {
    super();
    this.channel = channel;
  }

  override dispatch(options: Options, handler: Dispatcher.DispatchHandler): boolean {
    const controller = new Controller();
    this.#pass(options, handler, controller).catch((error: Error) =>
      handler.onResponseError?.(controller, controller.reason ?? error),
    );
    return true;
  }

  async #pass(options: Options, handler: Dispatcher.DispatchHandler, controller: Controller): Promise<void> {
    const { method, path, idempotent: isRepeatable, bodyTimeout, headersTimeout } = options;
    const { signal } = controller.ending;
    handler.onRequestStart?.(controller, null);
    signal.throwIfAborted();
    const common = { method, path, isRepeatable, bodyTimeout, headersTimeout, signal };
    const answer = await this.channel.send({ ...common, fields: flat(options.headers), body: bodyOf(options.body) });
    controller.rawHeaders = answer.fields.map((part) => Buffer.from(part, 'latin1'));
    handler.onResponseStart?.(controller, answer.status, util.parseHeaders(controller.rawHeaders), '');
    await controller.resumed;
    for await (const piece of answer.body) {
      handler.onResponseData?.(controller, Buffer.from(piece.buffer, piece.byteOffset, piece.length));
      await controller.resumed;
      signal.throwIfAborted();
    }
    handler.onResponseEnd?.(controller, {});
  }
}

class Controller implements Dispatcher.DispatchController {
  readonly ending = new AbortController();
  rawHeaders: Buffer[] = [];
  aborted = false;
  paused = false;
  reason: Error | null = null;
  resumed: Promise<void> | undefined;
  #resume: (() => void) | undefined;

  abort(reason: Error): void {
    Object.assign(this, { aborted: true, reason });
    this.ending.abort(reason);
    this.resume();
  }

  pause(): void {
    if (this.paused) return;
    this.paused = true;
    this.resumed = new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  resume(): void {
    this.paused = false;
    this.#resume?.();
  }
}

function flat(headers: Options['headers']): Fields {
  if (Array.isArray(headers)) return headers;
  return Object.entries(headers ?? {}).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((one) => [name, String(one)]),
  );
}

function bodyOf(body: Options['body']): ChannelRequest['body'] {
  if (typeof body === 'string') return utf8(body);
  if (body && !(Symbol.asyncIterator in body || body instanceof Uint8Array)) throw new TypeError('no form as body');
  return body ?? undefined;
}
