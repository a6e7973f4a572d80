/** The messages inside HTTPCrypt, and who answers them: the same as at the API. */
import type { Logger } from 'pino';
import { canonicalJson } from '../../core/encoding/canonical-json.ts';
import type { ChannelRequest } from '../../core/httpcrypt/message.ts';
import { BINDING_PATH, RENEWAL_PATH } from '../../core/keys/binding.ts';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { refusalOf } from '../api/refusals.ts';
import { CountStore } from '../http/count-store.ts';
import { FailureCounts } from '../http/failure-counts.ts';
import type { RequestLimits } from '../http/limits.ts';
import { bindDevice, type Issuer, renewDeviceKey } from '../readers/bindings.ts';
import { answerKeyRequest } from '../readers/key-requests.ts';
import type { Answer, Circumstances } from './app.ts';

export interface MessagesOptions extends Issuer {
  readonly limits: RequestLimits;
  readonly log: Logger;
}

/** What {@link Answer} each message gets. */
export function answerMessages(
  options: MessagesOptions,
): (request: ChannelRequest, circumstances: Circumstances) => Promise<Answer> {
  const { state, origin, log } = options;
  const bind = bindingOf(options, 'bindings', bindDevice);
  const renew = bindingOf(options, 'renewals', renewDeviceKey);
  return async ({ target, content }, circumstances) => {
    const route = [BINDING_PATH, RENEWAL_PATH, KEY_REQUEST_PATH].find((path) => target === `POST ${path}`) ?? 'none';
    try {
      if (route === BINDING_PATH) return { route, ...(await bind(content, circumstances)) };
      if (route === RENEWAL_PATH) return { route, ...(await renew(content, circumstances)) };
      if (route === KEY_REQUEST_PATH)
        return { route, status: 200, content: await answerKeyRequest(state, origin, content) };
      return { route, ...refuse(404, 'not-found') };
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) log.error({ err: error }, 'unforeseen error');
      return { route, ...refuse(refusal?.status ?? 500, refusal?.code ?? 'internal') };
    }
  };
}

/** Binding and its renewal, of requests that cannot be replays; failures are counted. */
function bindingOf(options: MessagesOptions, kind: string, answer: typeof bindDevice) {
  const { state, limits } = options;
  const failures = new FailureCounts(state, `${kind} by HTTPCrypt`);
  const counts = new CountStore();
  return async (content: Uint8Array, { address, clients, fresh }: Circumstances) => {
    if (!fresh) return refuse(425, 'too-early');
    if (counts.count(address).hits > limits.changesPerAddress * clients) return refuse(429, 'too-many-requests');
    const attempt = await failures.begin(address);
    let failed = false;
    try {
      if (attempt.hits > limits.bindingsPerAddress * clients) return refuse(429, 'too-many-requests');
      return { status: 200, content: await answer(options, content) };
    } catch (error) {
      failed = (refusalOf(error)?.status ?? 500) < 500;
      throw error;
    } finally {
      attempt.end(failed);
    }
  };
}

function refuse(status: number, error: string): { status: number; content: Uint8Array } {
  return { status, content: canonicalJson({ error }) };
}
