/** CONNECT: a tunnel to another machine, its bytes untouched. RFC 9110 section 9.3.6. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type CodedError, reasonOf } from '../../core/errors.ts';
import { VIA } from '../answer-fields.ts';
import type { BoundSites } from '../bound-sites.ts';
import { redirect } from '../content/connect-to.ts';
import { isOwnPort, loop } from '../content/connector.ts';
import type { Upstream } from '../content/upstream.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { refusalPage } from '../pages/refusal.ts';
import { PAGE_HEADERS, renderPage } from '../pages/template.ts';
import { parseAuthority } from './request-target.ts';

export interface TunnelOptions {
  readonly sites: BoundSites;
  readonly upstream: Upstream;
  readonly ownPort: () => number | undefined;
  /** Told of sockets that have to be closed when the proxy stops. */
  readonly opened: (socket: Duplex) => void;
  readonly refused: (error: CodedError, address: string) => void;
}

/** Opens the tunnel that a CONNECT request asks for, or refuses with a page. */
export async function openTunnel(
  options: TunnelOptions,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  client.on('error', () => client.destroy());
  options.opened(client);
  try {
    await options.sites.refresh();
    const remote = await connectTo(request.url ?? '', options);
    options.opened(remote);
    join(client, remote, head);
  } catch (error) {
    const known = error instanceof ReaderError ? error : new ReaderError('internal', reasonOf(error), { cause: error });
    options.refused(known, request.url ?? '');
    endWithPage(client, known);
  }
}

function connectTo(authority: string, { sites, upstream, ownPort }: TunnelOptions): Promise<Socket> {
  const wanted = parseAuthority(authority, undefined);
  if (wanted === undefined) throw new ReaderError('bad-request', 'CONNECT wants a host and a port');
  if (wanted.port === 25) throw new ReaderError('tunnel-refused', 'port 25 is for mail between servers');
  if (wanted.port === 80 && sites.find(wanted.host))
    throw new ReaderError(
      'tunnel-refused',
      `${wanted.host} is connected: its pages are read through the checks, not past them`,
    );
  const target = redirect({ host: wanted.host.replace(/^\[(.*)\]$/, '$1'), port: wanted.port }, upstream.connectTo);
  return new Promise((resolve, reject) => {
    const remote = connect({ ...target, allowHalfOpen: true });
    const timer = setTimeout(() => remote.destroy(new Error('no answer in time')), LIMITS.connectTimeout);
    remote.once('error', (cause) =>
      reject(new ReaderError('host-unreachable', `${authority} could not be reached: ${reasonOf(cause)}`, { cause })),
    );
    remote.once('close', () => clearTimeout(timer));
    remote.once('connect', () => {
      clearTimeout(timer);
      if (!isOwnPort(remote, ownPort())) return resolve(remote);
      remote.destroy();
      reject(loop());
    });
  });
}

function join(client: Duplex, remote: Socket, head: Buffer): void {
  const close = () => {
    client.destroy();
    remote.destroy();
  };
  remote.on('error', close).on('close', close);
  client.on('close', close);
  if (client.destroyed) {
    remote.destroy();
    return;
  }
  remote.setNoDelay(true);
  client.write(`HTTP/1.1 200 Connection established\r\nVia: ${VIA}\r\n\r\n`);
  if (head.length > 0) remote.write(head);
  client.pipe(remote);
  remote.pipe(client);
}

function endWithPage(client: Duplex, error: ReaderError): void {
  if (client.destroyed) return;
  const { status, page } = refusalPage(error);
  const html = renderPage(page);
  const fields = {
    ...PAGE_HEADERS,
    'content-length': Buffer.byteLength(html),
    'wispr-refusal': error.code,
    connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  client.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${html}`);
}
