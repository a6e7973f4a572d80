/** How sockets to other machines are opened: redirected by `--connect-to`, never to this proxy itself. */
import type { Socket } from 'node:net';
import { getCACertificates } from 'node:tls';
import { buildConnector } from 'undici';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { type ConnectTo, redirect } from './connect-to.ts';

export interface ConnectorOptions {
  readonly connectTo: readonly ConnectTo[];
  /** PEM; trusted besides the certificate authorities that Node.js trusts. */
  readonly ca: string | undefined;
  readonly minVersion?: 'TLSv1.3';
  /** The port on which this proxy listens, once it does. */
  readonly ownPort: () => number | undefined;
}

export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const { connectTo, ca, minVersion, ownPort } = options;
  const connect = buildConnector({
    allowH2: false,
    timeout: LIMITS.connectTimeout,
    ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }),
    ...(minVersion && { minVersion }),
  });
  return (wanted, callback) => {
    const { hostname, protocol } = wanted;
    const target = redirect(
      { host: unbracket(hostname), port: Number(wanted.port) || (protocol === 'https:' ? 443 : 80) },
      connectTo,
    );
    connect({ ...wanted, hostname: target.host, port: String(target.port) }, (error, socket) => {
      if (socket && isOwnPort(socket, ownPort())) {
        socket.destroy();
        callback(loop(), null);
      } else if (socket) callback(null, socket);
      else callback(error ?? new Error('no connection'), null);
    });
  };
}

/** Whether a connection leads back to this proxy, under whatever name it was asked for. */
export function isOwnPort(socket: Socket, ownPort: number | undefined): boolean {
  return socket.remotePort === ownPort && /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
}

export function loop(): ReaderError {
  return new ReaderError('loop', 'the request would come back to this proxy');
}

function unbracket(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
