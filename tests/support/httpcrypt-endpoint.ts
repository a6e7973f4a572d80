/** `wispr httpcrypt serve` in front of an HTTP server, behind nginx. */
import { join } from 'node:path';
import { freePort } from '../../cache-config/child.ts';
import { type HttpcryptEndpoint, parseEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { serveHttpcrypt } from '../../httpcrypt/serve/serve.ts';
import { startReverseProxy } from './httpcrypt-path.ts';
import { temporaryFolder } from './keyserver-rig.ts';

export interface TestEndpoint {
  readonly endpoint: HttpcryptEndpoint;
  /** Port of nginx. */
  readonly port: number;
  /** Port of the endpoint itself. */
  readonly ownPort: number;
  /** Log of nginx: `request|cookie|media type|length|status|User-Agent|Accept` a line. */
  requests(): Promise<string>;
  /** Makes it forget its server keys and tickets. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** @param host - name of the host @param to - port of the server behind @param zone - file for its records in DNS */
export async function startEndpoint(host: string, to: number, zone?: string): Promise<TestEndpoint> {
  const key = join(temporaryFolder(), 'httpcrypt.key');
  const listen = { host: '127.0.0.1', port: await freePort() };
  const report = (what: string) => {
    throw new Error(what);
  };
  const own = { listen, key, zone, rotateMinutes: 60, report };
  const options = { ...own, to: `http://127.0.0.1:${to}`, url: `http://${host}/a/` };
  let serving = await serveHttpcrypt(options);
  const endpoint = parseEndpoint(serving.endpoint);
  if (!endpoint) throw new Error(`no endpoint: ${serving.endpoint}`);
  const port = await freePort();
  const nginx = await startReverseProxy(port, listen.port);
  return {
    endpoint,
    port,
    ownPort: listen.port,
    requests: nginx.requests,
    restart: async () => {
      await serving.close();
      serving = await serveHttpcrypt(options);
    },
    close: async () => {
      await nginx.stop();
      await serving.close();
    },
  };
}
