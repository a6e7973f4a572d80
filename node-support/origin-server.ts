/** Servers of origins of our own: bounds of what they read, and what reaches no app. */
import type { RequestListener, Server } from 'node:http';
import type { ClientConnections } from './client-connections.ts';
import { readAbsoluteForm, refuseFault } from './http-requests.ts';

/** Bytes of a head. Less than one record of TLS, so that what arrives with the byte too many is the head from its beginning on. */
export const LONGEST_HEAD = 12 * 1024;
/** Milliseconds without a byte in either direction, after which a connection is closed. */
const SILENCE = 120_000;

/** Gives an app the requests that keep HTTP's rules, in origin form. */
export function serveOrigin(server: Server, connections: ClientConnections, app: RequestListener): void {
  server.timeout = SILENCE;
  connections.serve(server, (request, response) => {
    if (refuseFault(request, response)) return;
    readAbsoluteForm(request);
    app(request, response);
  });
}
