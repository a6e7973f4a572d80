/** Opens and closes the sockets of listeners. */
import { createHash } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { isLoopback } from '../../core/site/site.ts';
import { connectionAddress, type IsTrustedProxy } from '../../node-support/client-address.ts';
import {
  ClientConnections,
  type ConnectionLimits,
  type Explain,
  serverOptions,
} from '../../node-support/client-connections.ts';
import { createServer as createHttpServer } from '../../node-support/http.ts';
import { LONGEST_HEAD, serveOrigin } from '../../node-support/origin-server.ts';
import type { KeyServerConfig, ListenerConfig } from '../config/config.ts';
import { listenAt } from '../config/listen-at.ts';
import type { TlsFiles } from '../config/schema.ts';
import { misconfigured } from '../errors.ts';
import { TICKET_KEY_LIFETIME } from './ticket-keys.ts';
import { endOf, readTls } from './tls.ts';

/** Bytes: a path or a `Referer` that a foreign page makes stays out of a judgement on cookies, and cookies of this site are shorter. */
const LONG = 4096;
/** Milliseconds that running requests get when the server stops. */
const CLOSE_TIMEOUT = 5000;

/** A listener; it answers 503 until it is given an app. */
export interface Listener {
  readonly origin: string;
  readonly port: number;
  readonly serve: (app: RequestListener) => void;
  readonly tls: ListenerConfig['tls'];
  /** End of the certificate that is served, in seconds since 1970. */
  readonly certificateEnd: () => number | undefined;
  readonly reload: () => void;
  /** Sets the key that TLS tickets are sealed with. */
  readonly setTicketKey: (key: Uint8Array) => void;
  readonly close: () => Promise<void>;
}

/** Checks whether a listener may be opened, before anything is made or changed. @throws KeyServerError `configuration-invalid` */
export function checkListener(settings: ListenerConfig, { dev, trustedProxies }: KeyServerConfig): void {
  checkPlainHttp(settings, dev === true, (trustedProxies ?? []).length === 0);
  if (settings.tls) readTls(settings.tls, originOf(settings));
}

/**
 * The same for the operators' pages: plain HTTP is for loopback, where they get a name of their own.
 *
 * @throws KeyServerError `configuration-invalid`
 */
export function checkAdminListener(settings: ListenerConfig | undefined, config: KeyServerConfig): void {
  if (!settings) return;
  const { origin, listen, tls } = settings;
  if (origin?.startsWith('http:'))
    throw misconfigured('"admin.origin" has to be an https origin, or left out on loopback');
  if (origin === undefined && isLoopback(bracketed(listen.host)) && !tls) return;
  checkListener(settings, config);
}

/** Checks the listener of HTTPCrypt, which is plain HTTP for everybody. @throws KeyServerError `configuration-invalid` */
export function checkHttpcryptListener({ httpcrypt, dev }: KeyServerConfig): void {
  if (httpcrypt && dev) checkLoopback(httpcrypt.listen.host);
}

/**
 * Listens by settings that {@link checkListener} has passed. Where TLS ends in front of it, only proxies may connect.
 *
 * @param member - what the configuration calls its address
 * @throws KeyServerError `configuration-invalid`, `listen-failed`
 */
export async function listenFor(
  settings: ListenerConfig,
  member: `${'' | 'admin.' | 'reading.' | 'reading.documents.' | 'httpcrypt.' | 'metrics.'}listen`,
  isTrustedProxy: IsTrustedProxy,
  limits: ConnectionLimits,
): Promise<Listener> {
  let app: RequestListener = (_request, response) => void response.writeHead(503).end();
  const secure = settings.tls && resumable(originOf(settings));
  let certificateEnd: number | undefined;
  const readOwnTls = (files: TlsFiles) => {
    const read = readTls(files, originOf(settings));
    const end = endOf(read);
    // An expired certificate is refused in place of another; at the start it is served, so that the other listeners go on: clients refuse it.
    if (certificateEnd !== undefined && end * 1000 < Date.now())
      throw misconfigured(`the certificate ${files.certificate} has expired`);
    certificateEnd = end;
    return read;
  };
  const options = serverOptions(limits, { maxHeaderSize: LONGEST_HEAD, requestTimeout: limits.requestHead });
  const server = settings.tls
    ? createHttpsServer({
        ...readOwnTls(settings.tls),
        ...secure,
        ...options,
        handshakeTimeout: limits.requestHead,
      })
    : createHttpServer(options);
  let ticketKey: Buffer | undefined;
  const addressOf = (socket: Socket) => connectionAddress(socket, isTrustedProxy);
  serveOrigin(server, new ClientConnections(limits, { addressOf, explain }), (request, response) =>
    app(request, response),
  );
  if (!settings.tls && settings.origin?.startsWith('https:'))
    server.on('connection', (socket) => isTrustedProxy(socket.remoteAddress ?? '', 0) || socket.destroy());
  await listenAt(server, settings.listen, member);
  const { port } = server.address() as AddressInfo;
  return {
    origin: settings.origin ?? `http://${bracketed(settings.listen.host)}:${port}`,
    port,
    serve: (handler) => {
      app = handler;
    },
    tls: settings.tls,
    certificateEnd: () => certificateEnd,
    reload: () => {
      if (!settings.tls) return;
      (server as HttpsServer).setSecureContext({ ...readOwnTls(settings.tls), ...secure });
      if (ticketKey) (server as HttpsServer).setTicketKeys(ticketKey); // a new context has a random one
    },
    setTicketKey: (key) => {
      ticketKey = Buffer.from(key);
      if (settings.tls) (server as HttpsServer).setTicketKeys(ticketKey);
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
const FORGET = `Clear-Site-Data: "cache", "cookies", "storage"\r\nContent-Type: text/plain\r\n`;

/**
 * Tells a browser that sends too many cookies to forget them: a published script could otherwise shut its reader out of this host, or keep a
 * sign-out from removing keys, by cookies for the whole domain. The keys go too, because the page that removes them at a sign-out was not reached.
 */
const explain: Explain = (status, { rawPacket }: NodeJS.ErrnoException & { rawPacket?: Buffer }) =>
  status === 431 && hasLongCookies(rawPacket) ? { fields: FORGET, text: TOO_LARGE } : { fields: '', text: '' };

/**
 * Tells whether cookies make a head too long. Any page can request a long path here, by a picture or a link; it can lengthen no cookies of
 * another site, and write no line end. What does not begin with a request line may be the rest of a long path.
 */
function hasLongCookies(packet: Buffer | undefined): boolean {
  const [line = '', ...fields] = (packet?.toString('latin1') ?? '').split('\r\n');
  if (line.length > LONG || !/^[A-Z]+ \/[^ ]* HTTP\/1\.1$/.test(line)) return false;
  return fields.some((field) => field.length > LONG && /^cookie:/i.test(field));
}

/** Refuses plain HTTP but for loopback with `--dev`, or for proxies that end TLS: others are cut off. */
function checkPlainHttp({ tls, listen, origin }: ListenerConfig, dev: boolean, withoutProxy: boolean): void {
  const { host, port } = listen;
  if (dev) checkLoopback(host);
  else if (!tls && withoutProxy)
    throw misconfigured(
      `no certificate ("tls") is configured for ${host}:${port}, and no "trustedProxies": plain HTTP is refused`,
    );
  else if (!origin?.startsWith('https:'))
    throw misconfigured(`no https "origin" is configured for ${host}:${port}: the address that readers use`);
}

function checkLoopback(host: string): void {
  if (!isLoopback(bracketed(host))) throw misconfigured(`--dev listens on loopback only, not on ${host}`);
}

function originOf({ origin }: ListenerConfig): string {
  return origin ?? 'https://localhost';
}

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
