/** Answers of the API: bytes as they are, or `{"error":"code"}` and nothing more. */
import express, { type Request, type RequestHandler, type Response } from 'express';
import { verifyFirst } from '../http/limits.ts';
import type { ProviderReader } from '../publication/provider.ts';
import { checkToken, type TokenScope } from '../publication/tokens.ts';
import { as } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';

export const refuseTooMany: RequestHandler = (_request, response) => sendError(response, 429, 'too-many-requests');

export function refuseBusy(response: Response): void {
  sendError(response, 503, 'busy');
}

/** Takes the body as it is, whatever its type claims; a compressed one is refused. */
export function body(limit: number): RequestHandler {
  return express.raw({ type: () => true, limit, inflate: false });
}

export function bytesOf(received: unknown): Uint8Array {
  return received instanceof Uint8Array ? received : new Uint8Array(0);
}

export function send(response: Response, type: string, bytes: Uint8Array): void {
  // Express's `set` adds a charset.
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

export function sendError(response: Response, status: number, error: string): void {
  response.status(status).set('Cache-Control', 'no-store').json({ error });
}

/** Says who publishes what, and where: in the name of the key server, or of the reading site. */
export function sendDescriptor(provider: ProviderReader): RequestHandler {
  return async (_request, response) => {
    const known = await provider.read();
    response.set('Cache-Control', 'no-cache');
    if (!known) sendError(response, 404, 'no-provider');
    else {
      response.setHeader('Content-Type', 'application/json'); // `set` adds a charset
      response.send(Buffer.from(known.descriptorBytes));
    }
  };
}

/**
 * Demands a token before anything of the body is read. {@link actingState} acts in its name from then on.
 *
 * @param limit - refusals in 15 minutes of one address
 */
export function demandToken(state: KeyServerState, scope: TokenScope, limit: number): RequestHandler {
  const verify = async ({ headers }: Request, { locals }: Response) => {
    locals.actor = `token ${await checkToken(state, headers.authorization, scope)}`;
  };
  return verifyFirst(state, { kind: scope === 'publish' ? 'publishing' : scope, limit }, verify, refuseTooMany);
}

/** The state, for what a request changes that {@link demandToken} has let in. */
export function actingState(state: KeyServerState, { locals }: Response): KeyServerState {
  return as(state, locals.actor);
}
