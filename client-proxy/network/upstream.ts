/** Connections to other machines: for content, for key servers, for what passes through, for tunnels, and to a parent proxy where there is one. */
import type { ClientRequest, ClientRequestArgs, IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { Agent, Dispatcher } from 'undici';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { HttpcryptChannel } from '../../httpcrypt/client/channel.ts';
import { HttpcryptDispatcher } from '../../httpcrypt/client/dispatcher.ts';
import type { AllowLocal } from '../../node-support/addresses.ts';
import { Agent as NodeAgent, request as nodeRequest } from '../../node-support/http.ts';
import { nameResolver, type ResolveName } from '../../node-support/name-servers.ts';
import { LIMITS, type Limits, limitsOf } from '../limits.ts';
import { acceptBareLineFeeds } from './bare-line-feeds.ts';
import { type ConnectTo, unbracket } from './connect-to.ts';
import { type Connector, createConnector, forUndici } from './connector.ts';
import { Line } from './line.ts';
import { ParentProxy } from './parent-proxy.ts';
import { type AbsoluteTarget, authorityOf } from './request-target.ts';

export interface UpstreamOptions {
  readonly connectTo?: readonly ConnectTo[] | undefined;
  /** Addresses that may be reached on this computer and in its own network. */
  readonly allowLocal?: readonly AllowLocal[] | undefined;
  /** Proxy that all plain HTTP goes to, in absolute form. */
  readonly parentProxy?: string | undefined;
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string | undefined;
  readonly ownPort?: (() => number | undefined) | undefined;
  /** Tells whether key servers that take HTTPCrypt are asked by it, and by nothing else. */
  readonly httpcrypt?: boolean | undefined;
  /** Hosts that plain HTTP is sent to over HTTPCrypt, and by nothing else. */
  readonly httpcryptTo?: readonly HttpcryptEndpoint[] | undefined;
  /** Name servers for what is not an address of a host; the system's if left out. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Finds addresses of hosts; as the system does if left out. */
  readonly resolve?: ResolveName | undefined;
  readonly limits?: Limits | undefined;
}

/** A request for content, without what says where to. */
export type UpstreamRequest = Omit<Dispatcher.DispatchOptions, 'origin' | 'headers'> & {
  /** Names and values alternate. `Host` is added. */
  readonly headers: string[];
};

export class Upstream {
  /** Agent for key servers: HTTPS with TLS 1.3, never by way of the parent proxy. They know the device anyhow, so sessions are resumed. */
  readonly keyServers: Agent;
  /** Agent for content that does not come by way of the parent proxy. */
  readonly direct: Agent;
  /** Sends what HTTPCrypt consists of: plain HTTP, by way of the parent proxy, where there is one. */
  readonly plain: Dispatcher;
  /** User-Agent and Accept that the reader's browser showed last. */
  #looks: Readonly<Record<string, string>> | undefined;
  /** Connector for tunnels, which never go by way of the parent proxy. */
  readonly connect: Connector;
  readonly httpcrypt: boolean;
  readonly limits: Limits;
  readonly line: Line;
  readonly dnsServers: readonly string[] | undefined;
  readonly parent: ParentProxy | undefined;
  readonly #toParent: Agent | undefined;
  /** Ways over HTTPCrypt, by origin. */
  readonly #overHttpcrypt: ReadonlyMap<string, HttpcryptDispatcher>;
  /** Agent in place of {@link direct} on a slow line, where connections take bytes from one another. */
  readonly #narrow: Agent;
  readonly #passing: PassingAgent;
  /** The same on connections that were used for nothing before, and are for nothing after. */
  readonly #once: PassingAgent;

  /** @throws ReaderError `argument-invalid` */
  constructor(options: UpstreamOptions = {}) {
    const {
      connectTo = [],
      allowLocal = [],
      parentProxy,
      ca,
      ownPort = () => undefined,
      resolve = nameResolver(),
    } = options;
    this.httpcrypt = options.httpcrypt === true;
    this.dnsServers = options.dnsServers;
    this.limits = limitsOf(options);
    const { limits } = this;
    this.line = new Line(limits);
    const common = { connectTo, allowLocal, ca, ownPort, resolve, limits, line: this.line };
    this.connect = createConnector(common);
    this.direct = new Agent(settings(this.connect, limits));
    this.#narrow = new Agent({ ...settings(this.connect, limits), connections: 1 });
    this.keyServers = new Agent(settings(createConnector({ ...common, minVersion: 'TLSv1.3', resumes: true }), limits));
    this.plain = new PlainDispatcher((...sent) => this.#send(...sent));
    this.#overHttpcrypt = new Map(
      (options.httpcryptTo ?? []).map((endpoint) => [new URL(endpoint.url).origin, this.overHttpcrypt(endpoint)]),
    );
    let passing = this.connect;
    if (parentProxy !== undefined) {
      this.parent = new ParentProxy(parentProxy);
      // The reader named the parent proxy: it may be anywhere.
      passing = this.parent.reaching(createConnector({ ...common, connectTo: [], allowLocal: 'all' }));
      this.#toParent = new Agent(settings(passing, limits));
    }
    this.#passing = new PassingAgent(passing, limits);
    this.#once = new PassingAgent(passing, limits);
    this.#once.maxFreeSockets = 0;
  }

  /** The parent proxy, where requests to an origin go to it as they are. */
  parentFor(origin: string): ParentProxy | undefined {
    return origin.startsWith('http:') && !this.#overHttpcrypt.has(origin) ? this.parent : undefined;
  }

  /** The way to an endpoint of HTTPCrypt. */
  overHttpcrypt(endpoint: HttpcryptEndpoint): HttpcryptDispatcher {
    const { plain: dispatcher, dnsServers } = this;
    return new HttpcryptDispatcher(
      new HttpcryptChannel({ dispatcher, dnsServers, endpoint, shown: () => this.#looks }),
    );
  }

  /** The channel that requests to an origin go by, where they may go by no other way. */
  channelTo(origin: string): HttpcryptChannel | undefined {
    return this.#overHttpcrypt.get(origin)?.channel;
  }

  /** Hosts that have such a channel. */
  get hostsOverHttpcrypt(): string[] {
    return [...this.#overHttpcrypt.keys()].map((origin) => new URL(origin).hostname);
  }

  /** Takes note of a request of the reader's browser: over HTTPCrypt, the Reader looks like it. */
  browserShowed({ 'user-agent': agent, accept }: IncomingHttpHeaders): void {
    if (agent !== undefined) this.#looks = { 'user-agent': agent, ...(accept !== undefined && { accept }) };
  }

  /** Sends a request for content. @param authority - the `Host` of `origin` */
  dispatch(origin: string, authority: string, request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void {
    const channel = this.#overHttpcrypt.get(origin);
    if (channel) channel.dispatch({ ...request, origin }, handler);
    else this.#send(origin, authority, request, handler);
  }

  #send(origin: string, authority: string, request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void {
    const headers = ['host', authority, ...request.headers];
    const { parent } = this;
    if (parent && origin.startsWith('http:')) {
      headers.push(...parent.headers);
      this.#toParent?.dispatch({ ...request, origin: parent.origin, path: origin + request.path, headers }, handler);
    } else {
      (this.line.isSlow ? this.#narrow : this.direct).dispatch({ ...request, origin, headers }, handler);
    }
  }

  /**
   * Begins a request that passes through; its body, or its end, is up to the caller.
   *
   * @param headers - names and values alternate; `Host` is added
   * @param mayReuse - whether it may go on a kept connection, which the host may be closing just then
   */
  pass(target: AbsoluteTarget, method: string, headers: readonly string[], mayReuse: boolean): ClientRequest {
    const { parent } = this;
    const { host, port, path } = target;
    const authority = authorityOf(target);
    const outgoing = nodeRequest({
      agent: mayReuse ? this.#passing : this.#once,
      host: parent?.host ?? unbracket(host),
      port: parent?.port ?? port,
      method,
      // An asterisk has no absolute form: it stands where there is no path (RFC 9112 section 3.2.4).
      path: parent ? `http://${authority}${path === '*' ? '' : path}` : path,
      headers: ['Host', authority, ...headers, ...(parent?.headers ?? [])],
      maxHeaderSize: LIMITS.headerFields,
      timeout: this.limits.passingSilence,
    });
    outgoing.once('socket', acceptBareLineFeeds);
    outgoing.maxHeadersCount = 0; // Node.js would leave out what is beyond; the bound is in bytes
    return outgoing;
  }

  async close(): Promise<void> {
    for (const agent of [this.#passing, this.#once]) agent.destroy();
    await Promise.all([this.direct, this.#narrow, this.keyServers, this.#toParent].map((client) => client?.destroy()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Dispatcher for undici's own functions. */
class PlainDispatcher extends Dispatcher {
  readonly #send: Upstream['dispatch'];

  constructor(send: Upstream['dispatch']) {
    super();
    this.#send = send;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { origin, headers, ...request } = options;
    const { origin: to, host } = new URL(String(origin));
    const flat = Object.entries((headers ?? {}) as Record<string, string>).flat();
    this.#send(to, host, { ...request, headers: flat }, handler);
    return true;
  }
}

/** The connections of requests that pass through: as many as there are requests, since some are answered only when something happens. */
class PassingAgent extends NodeAgent {
  readonly #connector: Connector;

  constructor(connector: Connector, { keptIdle: timeout }: Limits) {
    // Idle connections are closed before most hosts would do it: one that closes under a request may cost that request.
    super({ keepAlive: true, keepAliveMsecs: LIMITS.tcpKeepAlive, maxFreeSockets: LIMITS.keptPerHost, timeout });
    this.#connector = connector;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    oncreate: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#connector({ host: host ?? '', port: Number(port) }).then(
      (socket) => oncreate(null, socket),
      (error) => oncreate(error, undefined as never), // the agent expects it so
    );
  }
}

function settings(connector: Connector, limits: Limits): Agent.Options {
  return {
    // A host may say that it keeps a connection for longer: undici would believe it up to ten minutes.
    keepAliveTimeout: limits.keptIdle,
    keepAliveMaxTimeout: limits.keptIdle,
    connect: forUndici(connector),
    allowH2: false,
    pipelining: 1,
    connections: limits.contentConnections,
    headersTimeout: limits.headersTimeout,
    bodyTimeout: limits.bodyTimeout,
    maxHeaderSize: LIMITS.headerFields,
  };
}
