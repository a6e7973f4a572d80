/** The messages inside HTTPCrypt, and who answers them: the same as at the API. */
import type { Logger } from 'pino';
import { readAtMost, streamOf } from '../../core/encoding/byte-reader.ts';
import { canonicalJson } from '../../core/encoding/canonical-json.ts';
import { BINDING_PATH, RENEWAL_PATH } from '../../core/keys/binding.ts';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import type { Client, InnerAnswer, InnerRequest } from '../../httpcrypt/listener.ts';
import { MinuteCounts } from '../../node-support/minute-counts.ts';
import { outcomeOf, refusalOf } from '../api/refusals.ts';
import { FailureCounts } from '../http/failure-counts.ts';
import { pauseText, type RequestLimits } from '../http/limits.ts';
import { bindDevice, type Issuer, renewDeviceKey } from '../readers/bindings.ts';
import { answerKeyRequest } from '../readers/key-requests.ts';

export interface MessagesOptions extends Issuer {
  readonly limits: RequestLimits;
  readonly log: Logger;
}

/** Bytes of a message. */
const MAXIMUM_MESSAGE = 32_768;
const JSON_TYPE = 'application/json';

interface Answer {
  readonly status: number;
  readonly content: Uint8Array;
  /** Media type; JSON if left out. */
  readonly type?: string;
  /** Seconds after which to ask again. */
  readonly pause?: number;
}

/** Answers each message. */
export function answerMessages(options: MessagesOptions): (request: InnerRequest) => Promise<InnerAnswer> {
  const { state, origin, log } = options;
  const answers: Readonly<Record<string, (content: Uint8Array, client: Client) => Promise<Answer>>> = {
    [BINDING_PATH]: bindingOf(options, 'bindings', bindDevice),
    [RENEWAL_PATH]: bindingOf(options, 'renewals', renewDeviceKey),
    [KEY_REQUEST_PATH]: async (content) => {
      const answer = await answerKeyRequest(state, origin, content);
      return { status: 200, content: answer, type: 'application/octet-stream' };
    },
  };
  const answerTo = async ({ body, ...client }: InnerRequest, route: string): Promise<Answer> => {
    try {
      const answer = answers[route];
      if (!answer) return refuse(404, 'not-found');
      const content = await readAtMost(body instanceof Uint8Array ? streamOf(body) : body, MAXIMUM_MESSAGE);
      return content ? await answer(content, client) : refuse(413, 'too-large');
    } catch (error) {
      const { status, code } = outcomeOf(error, log);
      return refuse(status, code);
    }
  };
  return async (request) => {
    const { method, path } = request;
    const route = method === 'POST' && Object.hasOwn(answers, path) ? path : 'none';
    const { status, content, type = JSON_TYPE, pause } = await answerTo(request, route);
    const fields = ['content-type', type, 'date', new Date().toUTCString()];
    if (pause !== undefined) fields.push('retry-after', pauseText(pause));
    return { status, fields, body: content, route };
  };
}

/** Binding and its renewal; failures are counted, together with those at the API. @param kind - of them, there */
function bindingOf(options: MessagesOptions, kind: string, answer: typeof bindDevice) {
  const { state, limits } = options;
  const failures = new FailureCounts(state, kind);
  const counts = new MinuteCounts();
  const refuseTooMany = (pause: number) => ({ ...refuse(429, 'too-many-requests'), pause });
  return async (content: Uint8Array, { address, clients }: Client) => {
    const { hits, end } = counts.count(address);
    if (hits > limits.changesPerAddress * clients) return refuseTooMany((end - Date.now()) / 1000);
    const attempt = await failures.begin(address);
    let failed = false;
    try {
      if (attempt.hits > limits.bindingsPerAddress * clients) return refuseTooMany(attempt.wait);
      return { status: 200, content: await answer(options, content) };
    } catch (error) {
      failed = (refusalOf(error)?.status ?? 500) < 500;
      throw error;
    } finally {
      attempt.end(failed);
    }
  };
}

function refuse(status: number, error: string): Answer {
  return { status, content: canonicalJson({ error }) };
}
