/** Connections that are no longer HTTP: tunnels, their bytes untouched (RFC 9110 section 9.3.6), and protocols switched to. */
import type { IncomingMessage, ServerResponse as Response } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CodedError } from '../../core/errors.ts';
import { ServerResponse } from '../../node-support/http.ts';
import { ReaderError } from '../errors.ts';
import { VIA } from '../network/answer-fields.ts';
import { unbracket } from '../network/connect-to.ts';
import { connectionReason } from '../network/failures.ts';
import { originOf, parseAuthority } from '../network/request-target.ts';
import type { Upstream } from '../network/upstream.ts';
import type { BoundTunnels } from '../pages/noticed.ts';
import { refuse } from '../pages/refusal.ts';
import type { BoundSites } from '../site/bound-sites.ts';
import { checkRequest } from './messages.ts';

export interface TunnelOptions {
  readonly sites: BoundSites;
  readonly upstream: Upstream;
  readonly tunnels: BoundTunnels;
  readonly opened: (socket: Duplex) => void;
  readonly refused: (error: CodedError, address: string) => void;
}

const NOTHING = Buffer.alloc(0);

/** Opens the tunnel that a CONNECT request asks for, or refuses with a page. */
export async function openTunnel(
  options: TunnelOptions,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  options.opened(client);
  const address = request.url ?? '';
  try {
    checkRequest(request);
    await options.sites.refresh();
    const remote = await connectTo(address, options);
    options.opened(remote);
    if (!client.destroyed) client.write(`HTTP/1.1 200 Connection established\r\nVia: ${VIA}\r\n\r\n`);
    joinSockets(client, head, remote, NOTHING);
  } catch (error) {
    options.refused(refuse(error, { request, response: responseOn(client, request) }), address);
  }
}

async function connectTo(authority: string, { sites, upstream, tunnels }: TunnelOptions): Promise<Socket> {
  const wanted = parseAuthority(authority, undefined);
  if (wanted === undefined) throw new ReaderError('bad-request', 'CONNECT wants a host and a port');
  if (wanted.port === 25) throw new ReaderError('port-refused', 'port 25 is for mail between servers');
  const bound = sites.find(wanted.host);
  if (bound && wanted.port === 80)
    throw new ReaderError('port-refused', `${bound.site} is connected: its pages are not read past the checks`);
  if (upstream.channelTo(originOf(wanted)))
    throw new ReaderError('port-refused', `${authority} is reached over HTTPCrypt, and in no other way`);
  if (bound) tunnels.record(bound.site);
  try {
    return await upstream.connect({ ...wanted, host: unbracket(wanted.host), allowHalfOpen: true });
  } catch (cause) {
    if (cause instanceof ReaderError) throw cause;
    throw new ReaderError('host-unreachable', `${authority} is out of reach: ${connectionReason(cause)}`, { cause });
  }
}

/** Copies bytes both ways until both are done; each may end its direction alone, and neither outlives the other's end. */
export function joinSockets(client: Duplex, clientHead: Uint8Array, remote: Duplex, remoteHead: Uint8Array): void {
  const close = () => {
    client.destroy();
    remote.destroy();
  };
  remote.on('error', close).on('close', close);
  client.on('error', close).on('close', close);
  if (client.destroyed || remote.destroyed) {
    close();
    return;
  }
  if (remoteHead.length > 0) client.write(remoteHead);
  if (clientHead.length > 0) remote.write(clientHead);
  client.pipe(remote);
  remote.pipe(client);
}

/** Makes a response for a connection that Node.js handed over, where it is answered by HTTP after all; it ends with the answer. */
export function responseOn(client: Duplex, request: IncomingMessage): Response {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(client as Socket);
  response.once('finish', () => {
    response.detachSocket(client as Socket);
    client.end();
  });
  client.on('drain', () => response.emit('drain')); // Node.js passes it on for connections that it has not handed over
  client.once('close', () => response.destroy());
  return response;
}
