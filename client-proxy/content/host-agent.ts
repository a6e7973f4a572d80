/**
 * Kept connections for requests that pass through and are more than a GET, on Node.js's own client: unlike undici's it carries `Expect`, the
 * trailers of a request, interim answers of every kind and `OPTIONS *`. It is the slower one (docs/figures.md).
 */
import type { ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import { Agent } from '../../node-support/http.ts';
import { LIMITS } from '../limits.ts';
import type { Connector } from './connector.ts';

export class HostAgent extends Agent {
  readonly #connector: Connector;

  constructor(connector: Connector) {
    // An idle connection is closed by us before most hosts would do it: one that closes under a request may cost that request.
    super({
      keepAlive: true,
      keepAliveMsecs: LIMITS.tcpKeepAlive,
      maxFreeSockets: LIMITS.keptPerHost,
      timeout: LIMITS.keptIdle,
    });
    this.#connector = connector;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    oncreate: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#connector({ host: host ?? '', port: Number(port) }).then(
      (socket) => oncreate(null, socket),
      (error) => oncreate(error, undefined as never), // as the agent wants it
    );
  }
}
