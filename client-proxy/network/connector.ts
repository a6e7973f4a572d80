/**
 * Opens sockets to other machines: redirected by `--connect-to`, never to this proxy itself, and to this computer and its own network only
 * where the reader permits it. The addresses that are checked are those connected to: nothing is resolved twice.
 */
import type { LookupAddress } from 'node:dns';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, getCACertificates } from 'node:tls';
import type { buildConnector } from 'undici';
import { type AllowLocal, isAllowed, isLocalAddress } from '../../node-support/addresses.ts';
import { lookupBy, type ResolveName } from '../../node-support/name-servers.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS, type Limits } from '../limits.ts';
import { type ConnectTo, type Endpoint, redirect, unbracket } from './connect-to.ts';
import type { Line } from './line.ts';
import { TlsSessions } from './tls-sessions.ts';

export interface ConnectorOptions {
  readonly connectTo: readonly ConnectTo[];
  /** `'all'`: the reader named every host that this connector gets to see. */
  readonly allowLocal: readonly AllowLocal[] | 'all';
  /** PEM; trusted besides the certificate authorities that Node.js trusts. */
  readonly ca?: string | undefined;
  readonly minVersion?: 'TLSv1.3';
  /** Tells whether TLS sessions are resumed: then the other side sees that two connections are of one Reader. */
  readonly resumes?: boolean;
  /** The port on which this proxy listens, once it does. */
  readonly ownPort: () => number | undefined;
  readonly resolve: ResolveName;
  readonly limits: Pick<Limits, 'connectTimeout' | 'handshakeTimeout'>;
  /** Listener for the time that connections took. */
  readonly line: Line;
}

export interface ConnectTarget extends Endpoint {
  readonly tls?: { readonly servername: string | undefined };
  /** The other side may end its direction, and ours stays open. */
  readonly allowHalfOpen?: boolean;
}

export type Connector = (wanted: ConnectTarget) => Promise<Socket>;

export function createConnector(options: ConnectorOptions): Connector {
  const { connectTo, allowLocal, ca, minVersion, resumes = false, ownPort, resolve } = options;
  const sessions = resumes ? new TlsSessions() : undefined;
  const tlsOptions = {
    ALPNProtocols: ['http/1.1'],
    ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }),
    ...(minVersion && { minVersion }),
  };
  return async (wanted) => {
    const { chosen, ...target } = redirect(wanted, connectTo);
    const rules = chosen || allowLocal === 'all' ? undefined : allowLocal;
    const addresses = await resolvePermitted(target, rules, resolve);
    const { tls, allowHalfOpen = false } = wanted;
    const where = { ...target, lookup: lookupBy(async () => addresses), autoSelectFamily: true };
    // Addresses are not sent as names (RFC 6066 section 3).
    const name = tls?.servername ?? wanted.host;
    const place = `${name} ${wanted.host}:${wanted.port}`;
    const secure = {
      ...where,
      ...tlsOptions,
      session: tls && sessions?.consume(place),
      ...(isIP(name) === 0 && { servername: name }),
    };
    const socket = tls ? connectTls(secure) : connectTcp({ ...where, allowHalfOpen });
    await connected(socket, tls !== undefined, options);
    // A session is kept only now: the certificate has been checked, which it is not when the session is resumed.
    if (tls && sessions) socket.on('session', (session: Buffer) => sessions.store(place, session));
    if (!isOwnPort(socket, ownPort())) return socket;
    socket.destroy();
    throw new ReaderError('loop', 'the request would come back to this proxy');
  };
}

/** The same for undici. */
export function forUndici(connector: Connector): buildConnector.connector {
  return ({ hostname, port, protocol, servername: name }, callback) => {
    const isTls = protocol === 'https:';
    connector({
      host: unbracket(hostname),
      port: Number(port) || (isTls ? 443 : 80),
      ...(isTls && { tls: { servername: name } }),
    }).then(
      (socket) => callback(null, socket),
      (error) => callback(error, null),
    );
  };
}

/** Waits until it is connected. A host answers within a round trip or two; its part of a handshake takes seconds where a link is narrow. */
function connected(socket: Socket, isTls: boolean, { limits, line }: ConnectorOptions): Promise<void> {
  socket.setNoDelay(true).setKeepAlive(true, LIMITS.tcpKeepAlive);
  return new Promise((resolve, reject) => {
    const late = () => socket.destroy(new Error('no answer in time'));
    let timer = setTimeout(late, limits.connectTimeout);
    const failed = (error?: Error | boolean) => {
      clearTimeout(timer);
      reject(error instanceof Error ? error : new Error('the connection was closed at once'));
    };
    socket.once('error', failed).once('close', failed);
    const start = performance.now();
    socket.once('connect', () => {
      line.connected(performance.now() - start);
      if (!isTls) return;
      clearTimeout(timer);
      timer = setTimeout(late, line.lengthen(limits.handshakeTimeout));
    });
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.off('error', failed).off('close', failed);
      resolve();
    });
  });
}

/**
 * The addresses of `target` outside this computer and its own network, and those inside that the reader permits.
 *
 * @param rules - `undefined`: the reader named the target, every address is permitted
 * @throws ReaderError `local-refused` if none is left; errors of the resolver
 */
export async function resolvePermitted(
  target: Endpoint,
  rules: readonly AllowLocal[] | undefined,
  resolve: ResolveName,
): Promise<LookupAddress[]> {
  const all = await resolve(target.host);
  const permitted = all.filter(
    ({ address }) => rules === undefined || !isLocalAddress(address) || isAllowed(rules, target, address),
  );
  if (permitted.length === 0) throw localRefused(target, all[0]?.address ?? '');
  return permitted;
}

function localRefused({ host, port }: Endpoint, address: string): ReaderError {
  const shown = isIP(host) === 6 ? `[${host}]` : host;
  const leads = address === host ? 'is on this computer or in' : 'leads to this computer or into';
  return new ReaderError('local-refused', `${shown} ${leads} its own network`, {
    fields: { endpoint: `${shown}:${port}` },
    cause: new Error(`it is ${address}`), // goes into the log only: a page that asked can read the answer
  });
}

/** Tells whether a connection leads back to this proxy, under whatever name it was asked for. */
function isOwnPort(socket: Socket, ownPort: number | undefined): boolean {
  return socket.remotePort === ownPort && /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
}
