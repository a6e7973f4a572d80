/** Opens and closes the sockets of the doors. */
import { createHash } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { type AddressInfo, BlockList, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { isLoopback } from '../../core/site/site.ts';
import { createServer as createHttpServer } from '../../node-support/http.ts';
import { systemReason } from '../../node-support/system-error.ts';
import type { DoorConfig, KeyServerConfig, ListenAddress } from '../config.ts';
import { KeyServerError } from '../errors.ts';
import { rememberConnections } from './cut.ts';
import { TICKET_KEY_LIFETIME } from './ticket-keys.ts';
import { readTls } from './tls.ts';

/** Milliseconds within which a request must have arrived whole. */
const REQUEST_TIMEOUT = 30_000;
/** Milliseconds that running requests get when the server stops. */
const CLOSE_TIMEOUT = 5000;

/** Loopback, RFC 1918, link-local (RFC 3927), shared (RFC 6598), and their like in IPv6 (RFC 4193, RFC 4291). */
const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv4');
}
PRIVATE.addAddress('::1', 'ipv6');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');
PRIVATE.addSubnet('fe80::', 10, 'ipv6');

/** A door that listens; it answers 503 until it is given an app. */
export interface Listener {
  readonly origin: string;
  readonly port: number;
  readonly serve: (app: RequestListener) => void;
  /** Reads a renewed certificate. */
  readonly reload: () => void;
  /** What TLS tickets are sealed with from now on. */
  readonly setTicketKey: (key: Uint8Array) => void;
  readonly close: () => Promise<void>;
}

/**
 * Checks whether a door may be opened, before anything is made or changed.
 *
 * @throws KeyServerError `configuration-invalid`
 */
export function checkDoor(door: DoorConfig, { dev, behindProxy }: KeyServerConfig): void {
  checkPlainHttp(door, dev === true, behindProxy === true);
  if (door.tls) readTls(door.tls, originOf(door));
}

/**
 * The same for the door of HTTPCrypt, which is plain HTTP for everybody.
 *
 * @throws KeyServerError `configuration-invalid`
 */
export function checkHttpcryptDoor({ httpcrypt, dev, behindProxy }: KeyServerConfig): void {
  if (!httpcrypt) return;
  const { host } = httpcrypt.listen;
  if (dev && !isLoopback(bracketed(host))) throw invalid(`--dev listens on loopback only, not on ${host}`);
  checkBehindProxy(host, behindProxy === true);
}

/**
 * Listens for a door that {@link checkDoor} has passed.
 *
 * @param member - what the configuration calls its address
 * @throws KeyServerError `configuration-invalid`, `listen-failed`
 */
export async function listenFor(
  door: DoorConfig,
  member: 'listen' | 'reading.listen' | 'reading.documents.listen' | 'httpcrypt.listen' | 'metrics.listen',
): Promise<Listener> {
  let app: RequestListener = (_request, response) => void response.writeHead(503).end();
  const listener: RequestListener = (request, response) => app(request, response);
  const secure = door.tls && resumable(originOf(door));
  const server = door.tls
    ? createHttpsServer({ ...readTls(door.tls, originOf(door)), ...secure }, listener)
    : createHttpServer(listener);
  let ticketKey: Buffer | undefined;
  server.requestTimeout = REQUEST_TIMEOUT;
  server.on('clientError', answerClientError);
  rememberConnections(server);
  await listen(server, door.listen, member);
  const { port } = server.address() as AddressInfo;
  return {
    origin: door.origin ?? `http://${bracketed(door.listen.host)}:${port}`,
    port,
    serve: (handler) => {
      app = handler;
    },
    reload: () => {
      if (!door.tls) return;
      (server as HttpsServer).setSecureContext({ ...readTls(door.tls, originOf(door)), ...secure });
      if (ticketKey) (server as HttpsServer).setTicketKeys(ticketKey); // a new context has a random one
    },
    setTicketKey: (key) => {
      ticketKey = Buffer.from(key);
      if (door.tls) (server as HttpsServer).setTicketKeys(ticketKey);
    },
    close: () => close(server),
  };
}

/** A ticket is good at every key server for the same origin, and at no other origin. Without this, Node.js takes the command line for it. */
function resumable(origin: string) {
  const sessionIdContext = createHash('sha256').update(origin).digest('hex').slice(0, 32);
  return { sessionIdContext, sessionTimeout: TICKET_KEY_LIFETIME };
}

const TOO_LARGE =
  'Your browser sent more cookies than this site takes, and was told to remove them. Open the page again.\n';

/**
 * Answers what is no request, as Node.js does by itself; but a browser that sends too large a head is told to forget its cookies: a published script
 * could otherwise shut its reader out of this host, or keep a sign-out from removing keys, by cookies for the whole domain.
 */
function answerClientError({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === 'ECONNRESET') return void socket.destroy();
  const end = 'Connection: close\r\n';
  if (code === 'HPE_HEADER_OVERFLOW') {
    const headers = `Clear-Site-Data: "cache", "cookies", "storage"\r\nContent-Type: text/plain\r\nContent-Length: ${TOO_LARGE.length}\r\n`;
    return void socket.end(`HTTP/1.1 431 Request Header Fields Too Large\r\n${headers}${end}\r\n${TOO_LARGE}`);
  }
  const status = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\n${end}\r\n`);
}

/** Plain HTTP is for loopback with `--dev`, or behind a proxy that ends TLS and that cannot be bypassed. */
function checkPlainHttp({ tls, listen, origin }: DoorConfig, dev: boolean, behindProxy: boolean): void {
  const { host, port } = listen;
  if (dev && !isLoopback(bracketed(host))) throw invalid(`--dev listens on loopback only, not on ${host}`);
  if (!dev && !tls && !behindProxy)
    throw invalid(
      `no certificate ("tls") is configured for ${host}:${port}, and no "behindProxy": plain HTTP is refused`,
    );
  checkBehindProxy(host, behindProxy);
  if (!dev && !origin?.startsWith('https:'))
    throw invalid(`no https "origin" is configured for ${host}:${port}: the address that readers use`);
}

/** A client that reaches the port directly could choose the address that its attempts are counted by. */
function checkBehindProxy(host: string, behindProxy: boolean): void {
  if (behindProxy && !isWithinReach(host))
    throw invalid(
      `with "behindProxy", only the proxy may reach the port: ${host} is not a loopback or private address`,
    );
}

function invalid(message: string): KeyServerError {
  return new KeyServerError('configuration-invalid', message);
}

/** Whether only this machine, or a private network, can reach an address that is listened on. A name is resolved later, and so is not. */
function isWithinReach(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return isLoopback(host);
  return PRIVATE.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

function originOf({ origin }: DoorConfig): string {
  return origin ?? 'https://localhost';
}

function listen(server: Server, address: ListenAddress, member: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(describeListenError(cause, address, member)));
    server.listen(address, resolve);
  });
}

function describeListenError(cause: NodeJS.ErrnoException, { host, port }: ListenAddress, member: string) {
  const reason = cause.code === 'EADDRINUSE' ? 'the port is in use' : systemReason(cause);
  const fields = { member };
  return new KeyServerError('listen-failed', `cannot listen on ${host}:${port}: ${reason}`, { cause, fields });
}

/** Lets running requests end, for a while. */
function close(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT);
  return new Promise((resolve) => {
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
