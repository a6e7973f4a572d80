/**
 * What comes by way of the parent proxy, told apart from what a host gave: that it wants a password, and that it breaks off before there is any
 * answer, or speaks no HTTP. For a host that does so, a proxy that works answers 502. Silence is left to the host: a proxy waits for it, too.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Dispatcher } from 'undici';
import { CodedError, reasonOf } from '../../core/errors.ts';
import { ReaderError } from '../errors.ts';
import { isBrokenOff, isOtherProtocol } from './broken-answer.ts';
import { connectionReason } from './connection-reason.ts';
import type { ParentAddress } from './parent-proxy.ts';

type Controller = Dispatcher.DispatchController;
type Handler = Dispatcher.DispatchHandler;

/** No host gives it (RFC 9110 section 15.5.8). A browser would take it for a wish of the Reader's. */
const PROXY_AUTHENTICATION_REQUIRED = 407;

export class ParentAnswers {
  readonly #parent: Pick<ParentAddress, 'address' | 'credentials'>;

  constructor(parent: Pick<ParentAddress, 'address' | 'credentials'>) {
    this.#parent = parent;
  }

  /** A handler that is told of what a host gave, and of what the parent proxy did as an error with a code that says so. */
  forUndici(handler: Handler): Handler {
    let isAnswered = false;
    return {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart: (controller, status, ...rest) => {
        if (status === PROXY_AUTHENTICATION_REQUIRED) throw this.#wantsPassword(); // which ends the request
        isAnswered ||= status >= 200;
        handler.onResponseStart?.(controller, status, ...rest);
      },
      onResponseData: (controller: Controller, piece: Buffer) => handler.onResponseData?.(controller, piece),
      onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
      onResponseError: (controller, error) =>
        handler.onResponseError?.(controller, isAnswered ? error : this.#explain(error)),
    };
  }

  /** The same for a request of Node.js's client, before anybody listens to it: there is no other place between its parser and whoever does. */
  forNode(outgoing: ClientRequest): ClientRequest {
    const emit: (event: string | symbol, ...values: unknown[]) => boolean = outgoing.emit.bind(outgoing);
    let isAnswered = false;
    outgoing.emit = (event: string | symbol, ...values: unknown[]) => {
      if (event === 'error' && !isAnswered) return emit(event, this.#explain(values[0] as Error));
      if (event === 'response' && (values[0] as IncomingMessage).statusCode === PROXY_AUTHENTICATION_REQUIRED) {
        outgoing.destroy(this.#wantsPassword());
        return true;
      }
      isAnswered ||= event === 'response' || event === 'upgrade';
      return emit(event, ...values);
    };
    return outgoing;
  }

  #wantsPassword(): ReaderError {
    const message = this.#parent.credentials
      ? 'the parent proxy did not take the name and the password that are set for it'
      : 'the parent proxy wants a name and a password';
    return new ReaderError('parent-proxy-auth', message, { cause: this.#for('it answered 407') });
  }

  /** What is no matter of the connection stays as it is. */
  #explain(error: Error): Error {
    if (error instanceof CodedError) return error;
    const cause = this.#for(reasonOf(error), error);
    if (isOtherProtocol(error))
      return new ReaderError('parent-proxy-answer', 'what answers at the address of the parent proxy speaks no HTTP', {
        cause,
      });
    const isOfConnection = 'syscall' in error || isBrokenOff(error);
    if (!isOfConnection) return error;
    const message = `the parent proxy gave no answer: ${connectionReason(error)}`;
    return new ReaderError('parent-proxy-answer', message, { cause });
  }

  /** For the log: which one it was. */
  #for(reason: string, cause?: Error): Error {
    return new Error(`${this.#parent.address}: ${reason}`, { cause });
  }
}
