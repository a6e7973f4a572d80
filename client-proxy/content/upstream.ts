/** The way out: connections for content, for key servers, for what passes through, for tunnels, and to a parent proxy where there is one. */
import type { ClientRequest } from 'node:http';
import type { Dispatcher } from 'undici';
import { request as httpRequest } from '../../node-support/http.ts';
import { Agent, Pool } from '../../node-support/undici.ts';
import { LIMITS } from '../limits.ts';
import type { AllowLocal } from './allow-local.ts';
import { AnswerWatch } from './answer-watch.ts';
import { type ConnectTo, type Endpoint, unbracket } from './connect-to.ts';
import { type Connector, createConnector, forUndici } from './connector.ts';
import { HostAgent } from './host-agent.ts';
import { ParentAnswers } from './parent-answers.ts';
import { parseParentProxy, reachingParent } from './parent-proxy.ts';

export interface UpstreamOptions {
  readonly connectTo?: readonly ConnectTo[] | undefined;
  /** What may be reached on this computer and in its own network. */
  readonly allowLocal?: readonly AllowLocal[] | undefined;
  /** All plain HTTP goes to this proxy, in absolute form. */
  readonly parentProxy?: string | undefined;
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string | undefined;
  readonly ownPort?: (() => number | undefined) | undefined;
}

/** A request for content, without what says where to. */
export type UpstreamRequest = Omit<Dispatcher.DispatchOptions, 'origin' | 'headers'> & {
  /** Names and values alternate. `Host` is added. */
  readonly headers: string[];
};

/** A request that passes through, but for its method. */
export interface PassingHead extends Endpoint {
  /** As in `Host`. */
  readonly authority: string;
  readonly path: string;
  /** Names and values alternate. `Host` is added. */
  readonly headers: readonly string[];
}

export interface PassingRequest extends PassingHead {
  readonly method: string;
}

interface ParentProxy extends Endpoint {
  readonly pool: Pool;
  readonly passingPool: Pool;
  readonly agent: HostAgent;
  readonly headers: readonly string[];
  readonly answers: ParentAnswers;
}

export class Upstream {
  /** For key servers: HTTPS with TLS 1.3, never by way of the parent proxy. */
  readonly keyServers: Agent;
  /** For content that does not come by way of the parent proxy. */
  readonly direct: Agent;
  /** For tunnels, which never go by way of the parent proxy. */
  readonly connect: Connector;
  /** What undici does not tell of answers that pass through. */
  readonly answers = new AnswerWatch();
  readonly #passing: HostAgent;
  readonly #passingGets: Agent;
  readonly #parent: ParentProxy | undefined;

  /** @throws ReaderError `parent-proxy-malformed` */
  constructor({ connectTo = [], allowLocal = [], parentProxy, ca, ownPort = () => undefined }: UpstreamOptions = {}) {
    const common = { connectTo, allowLocal, ca, ownPort };
    this.connect = createConnector(common);
    this.direct = new Agent(settings(this.connect));
    this.keyServers = new Agent(settings(createConnector({ ...common, minVersion: 'TLSv1.3' })));
    this.#passing = new HostAgent(this.connect);
    this.#passingGets = new Agent(passingSettings(this.connect, this.answers));
    // The reader named the parent proxy: it may be anywhere.
    const toParent = () => createConnector({ connectTo: [], allowLocal: 'all', ownPort });
    this.#parent = parentProxy === undefined ? undefined : openParent(parentProxy, toParent(), this.answers);
  }

  /**
   * Sends a request for content.
   *
   * @param authority - the `Host` of `origin`
   */
  dispatch(origin: string, authority: string, request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void {
    const headers = ['host', authority, ...request.headers];
    const parent = this.#parent;
    if (parent && origin.startsWith('http:')) {
      headers.push(...parent.headers);
      parent.pool.dispatch({ ...request, path: origin + request.path, headers }, parent.answers.forUndici(handler));
    } else {
      this.direct.dispatch({ ...request, origin, headers }, handler);
    }
  }

  /**
   * Sends a GET without a body that passes through. By undici, which takes half of the time that Node.js's own client takes, and does not carry
   * all that {@link pass} does.
   */
  passGet({ authority, path, headers }: PassingHead, handler: Dispatcher.DispatchHandler): void {
    const parent = this.#parent;
    const origin = `http://${authority}`;
    const fields = ['Host', authority, ...headers, ...(parent?.headers ?? [])];
    if (parent)
      parent.passingPool.dispatch(
        { method: 'GET', path: origin + path, headers: fields },
        parent.answers.forUndici(handler),
      );
    else this.#passingGets.dispatch({ method: 'GET', origin, path, headers: fields }, handler);
  }

  /** Begins a request that passes through; its body, or its end, is up to the caller. */
  pass({ host, port, authority, method, path, headers }: PassingRequest): ClientRequest {
    const parent = this.#parent;
    const outgoing = httpRequest({
      agent: parent?.agent ?? this.#passing,
      host: parent?.host ?? unbracket(host),
      port: parent?.port ?? port,
      method,
      // An asterisk has no absolute form: it is what stands where no path does (RFC 9112 section 3.2.4).
      path: parent ? `http://${authority}${path === '*' ? '' : path}` : path,
      headers: ['Host', authority, ...headers, ...(parent?.headers ?? [])],
      maxHeaderSize: LIMITS.headerFields,
      timeout: LIMITS.passingSilence,
    });
    outgoing.maxHeadersCount = 0; // Node.js would leave out what is beyond; the bound is in bytes
    return parent ? parent.answers.forNode(outgoing) : outgoing;
  }

  async close(): Promise<void> {
    this.#passing.destroy();
    this.#parent?.agent.destroy();
    const { pool, passingPool } = this.#parent ?? {};
    const clients = [this.direct, this.keyServers, this.#passingGets, pool, passingPool];
    await Promise.all(clients.map((client) => client?.destroy()));
  }
}

/** However long a host says that it keeps a connection: undici would believe it up to ten minutes. */
const kept = () => ({ keepAliveTimeout: LIMITS.keptIdle, keepAliveMaxTimeout: LIMITS.keptIdle });

function settings(connector: Connector): Agent.Options {
  return {
    ...kept(),
    connect: forUndici(connector),
    allowH2: false,
    pipelining: 1,
    connections: LIMITS.contentConnections,
    headersTimeout: LIMITS.headersTimeout,
    bodyTimeout: LIMITS.bodyTimeout,
    maxHeaderSize: LIMITS.headerFields,
  };
}

/** As many connections as there are requests, since some are answered only when something happens. */
function passingSettings(connector: Connector, answers: AnswerWatch): Agent.Options {
  return {
    ...kept(),
    connect: forUndici(async (wanted) => answers.watch(await connector(wanted))),
    allowH2: false,
    pipelining: 1,
    headersTimeout: LIMITS.passingSilence,
    bodyTimeout: LIMITS.passingSilence,
    maxHeaderSize: LIMITS.headerFields,
  };
}

function openParent(parentProxy: string, connect: Connector, watch: AnswerWatch): ParentProxy {
  const { host, port, origin, address, credentials } = parseParentProxy(parentProxy);
  const connector = reachingParent(connect, address);
  return {
    host,
    port,
    pool: new Pool(origin, settings(connector)),
    passingPool: new Pool(origin, passingSettings(connector, watch)),
    agent: new HostAgent(connector),
    headers: credentials ? ['Proxy-Authorization', `Basic ${Buffer.from(credentials).toString('base64')}`] : [],
    answers: new ParentAnswers({ address, credentials }),
  };
}
