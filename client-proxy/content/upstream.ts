/** The way out: one pool of connections for content, one for key servers, and one to a parent proxy where there is one. */
import { Agent, type buildConnector, type Dispatcher, Pool } from 'undici';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { ConnectTo } from './connect-to.ts';
import { createConnector } from './connector.ts';

export interface UpstreamOptions {
  readonly connectTo?: readonly ConnectTo[] | undefined;
  /** All plain HTTP goes to this proxy, in absolute form. */
  readonly parentProxy?: string | undefined;
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string | undefined;
  readonly ownPort?: (() => number | undefined) | undefined;
}

/** A request, without what says where to. */
export type UpstreamRequest = Omit<Dispatcher.DispatchOptions, 'origin' | 'headers'> & {
  /** Names and values alternate. `Host` is added. */
  readonly headers: string[];
};

interface ParentProxy {
  readonly pool: Pool;
  readonly headers: readonly string[];
}

export class Upstream {
  readonly connectTo: readonly ConnectTo[];
  /** For key servers: HTTPS with TLS 1.3, never by way of the parent proxy. */
  readonly keyServers: Agent;
  /** For everything else that does not go by way of the parent proxy. */
  readonly direct: Agent;
  readonly #parent: ParentProxy | undefined;

  /** @throws ReaderError `parent-proxy-malformed` */
  constructor({ connectTo = [], parentProxy, ca, ownPort = () => undefined }: UpstreamOptions = {}) {
    this.connectTo = connectTo;
    const common = { connectTo, ca, ownPort };
    this.direct = new Agent(settings(createConnector(common)));
    this.keyServers = new Agent(settings(createConnector({ ...common, minVersion: 'TLSv1.3' })));
    this.#parent =
      parentProxy === undefined ? undefined : openParent(parentProxy, createConnector({ ...common, connectTo: [] }));
  }

  /**
   * Sends a request for content.
   *
   * @param authority - the `Host` of `origin`
   */
  dispatch(origin: string, authority: string, request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void {
    const headers = ['host', authority, ...request.headers];
    if (this.#parent && origin.startsWith('http:')) {
      headers.push(...this.#parent.headers);
      this.#parent.pool.dispatch({ ...request, path: origin + request.path, headers }, handler);
    } else {
      this.direct.dispatch({ ...request, origin, headers }, handler);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.direct.destroy(), this.keyServers.destroy(), this.#parent?.pool.destroy()]);
  }
}

function settings(connect: buildConnector.connector): Agent.Options {
  return {
    connect,
    allowH2: false,
    pipelining: 1,
    headersTimeout: LIMITS.headersTimeout,
    bodyTimeout: LIMITS.bodyTimeout,
    maxHeaderSize: LIMITS.headerFields,
  };
}

function openParent(parentProxy: string, connect: buildConnector.connector): ParentProxy {
  const url = URL.canParse(parentProxy) ? new URL(parentProxy) : undefined;
  if (url?.protocol !== 'http:' || url.pathname !== '/' || url.search || url.hash) {
    throw new ReaderError('parent-proxy-malformed', `not the URL of an HTTP proxy: ${parentProxy}`, {
      typed: true,
      hint: 'for example http://127.0.0.1:3128',
    });
  }
  const credentials = url.username && `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const headers = credentials ? ['proxy-authorization', `Basic ${Buffer.from(credentials).toString('base64')}`] : [];
  return { pool: new Pool(url.origin, settings(connect)), headers };
}
