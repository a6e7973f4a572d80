/** The key server's API. Codes and keys travel in bodies only; errors are `{"error":"code"}` and nothing more. */
import type { RequestListener } from 'node:http';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { BINDING_PATH, RENEWAL_PATH } from '../../core/keys/binding.ts';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { JOIN_PAGE } from '../../core/site/path.ts';
import { DESCRIPTOR_PATH } from '../../core/site/well-known.ts';
import { KeyServerError } from '../errors.ts';
import { type AppOptions, createApp, noStore } from '../http/app.ts';
import { compressAnswers } from '../http/compressed.ts';
import { CountStore } from '../http/count-store.ts';
import { limitFailures, limitRequests, type RequestLimits } from '../http/limits.ts';
import { shed } from '../http/shed.ts';
import { bindDevice, renewDeviceKey } from '../readers/bindings.ts';
import { answerKeyRequest } from '../readers/key-requests.ts';
import type { KeyServerState } from '../storage/state.ts';
import { body, bytesOf, refuseBusy, refuseTooMany, send, sendDescriptor, sendError } from './answers.ts';
import { addHealthRoutes } from './health.ts';
import { keyRequestsFirst } from './key-requests.ts';
import type { ApiOptions } from './options.ts';
import { addPublicationRoutes } from './publication.ts';
import { outcomeOf } from './refusals.ts';
import { addStripeRoute } from './stripe.ts';
import { addSubscriptionRoutes } from './subscriptions.ts';

type Work = (options: ApiOptions, content: Uint8Array) => Promise<Uint8Array>;

/** The API, not listening. */
export function createApi(options: ApiOptions): { readonly app: Express; readonly listener: RequestListener } {
  const [requests, keyRequests] = [new CountStore(), new CountStore()];
  const { requestsPerAddress, keyRequestsPerAddress } = options.limits;
  const app = createApiApp({ ...options, requests }, keyRequests);
  const counts = [[requests, requestsPerAddress] as const, [keyRequests, keyRequestsPerAddress] as const];
  return { app, listener: keyRequestsFirst(options, counts, app) };
}

function createApiApp(options: ApiOptions, keyRequests: CountStore): Express {
  const { state, provider, origin, origins, limits } = options;
  const misdirected: RequestHandler = (_request, response) => sendError(response, 421, 'misdirected-request');
  const app = createApp(options, misdirected, refuseTooMany);
  app.use(compressAnswers);
  app.get(DESCRIPTOR_PATH, sendDescriptor(provider));
  const answer = (path: string, limit: readonly RequestHandler[], length: number, type: string, work: Work) =>
    app.post(path, noStore, refuseForeignPages, ...limit, body(length), shed(refuseBusy), async (request, response) =>
      send(response, type, await work(options, bytesOf(request.body))),
    );
  const { bindingRequest, keyRequest } = MESSAGE_LIMITS;
  answer(BINDING_PATH, bindingLimit(state, limits, 'bindings'), bindingRequest, 'application/json', bindDevice);
  answer(RENEWAL_PATH, bindingLimit(state, limits, 'renewals'), bindingRequest, 'application/json', renewDeviceKey);
  const keyRequestLimit = [limitRequests(limits.keyRequestsPerAddress, refuseTooMany, keyRequests)];
  answer(KEY_REQUEST_PATH, keyRequestLimit, keyRequest, 'application/octet-stream', (_options, content) =>
    answerKeyRequest(state, origin, content),
  );
  addHealthRoutes(app, state, options.interval);
  addPublicationRoutes(app, options);
  addSubscriptionRoutes(app, options);
  addStripeRoute(app, options);
  // The link of an earlier invitation, opened in a browser: it keeps what stands behind "#".
  app.get('/', noStore, (_request, response) => response.redirect(303, origins.reading + JOIN_PAGE));
  app.use((_request, response) => sendError(response, 404, 'not-found'));
  app.use(handleError(options));
  return app;
}

/**
 * Pages have nothing to send here: no answer lets them read it. Any page could otherwise use up what the limits leave to its visitor's address.
 * Programs do not send the field.
 */
const refuseForeignPages: RequestHandler = ({ headers }, response, next) => {
  const site = headers['sec-fetch-site'];
  if (site === 'cross-site' || site === 'same-site') sendError(response, 403, 'request-refused');
  else next();
};

/** A request that was answered can be sent again: all count, and those that failed once more. */
function bindingLimit(state: KeyServerState, limits: RequestLimits, kind: string): RequestHandler[] {
  const limit = { kind, limit: limits.bindingsPerAddress, countedBy: 'address' } as const;
  return [limitRequests(limits.changesPerAddress, refuseTooMany), limitFailures(state, limit, refuseTooMany)];
}

function handleError({ log }: AppOptions): ErrorRequestHandler {
  return (error, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof KeyServerError && error.code === 'token-refused') response.set('WWW-Authenticate', 'Bearer');
    if (error?.type === 'entity.too.large') return sendError(response, 413, 'too-large');
    if (error?.status >= 400 && error.status < 500) return sendError(response, error.status, 'bad-request');
    const { status, code } = outcomeOf(error, log);
    sendError(response, status, code);
  };
}
