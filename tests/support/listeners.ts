/** HTTP listeners of the Reader and the key server, on loopback, with what a raw client has to know of each. */
import { join } from 'node:path';
import type { Limits } from '../../client-proxy/limits.ts';
import type { RequestLimits } from '../../keyserver/http/limits.ts';
import { startNear } from '../../link/relay/near.ts';
import { listen, startRig } from './keyserver-rig.ts';
import { startReaderRig } from './reader-rig.ts';

export const LISTENERS = [
  'API',
  'reading site',
  'documents',
  'operators',
  'metrics',
  'HTTPCrypt',
  'Reader',
  'gateway',
  'near relay',
] as const;

export interface Listening {
  readonly name: (typeof LISTENERS)[number];
  readonly port: number;
  /** Value that its `Host` has to have. */
  readonly host: string;
  /** A path that takes GET. */
  readonly path: string;
  /** A path whose POST reads a body, with the fields that it wants. */
  readonly form?: { readonly path: string; readonly fields: readonly string[] };
  /** The status for another host; HTTPCrypt, which proxies change, takes every one. */
  readonly elsewhere: number | undefined;
  /** Tells whether a URL of another host is passed on. */
  readonly isProxy?: true;
}

const UNBOUNDED = 1_000_000;

/** @param bounds - of connections, at all of them */
export async function startListeners(
  bounds: Partial<Pick<Limits & RequestLimits, 'clientConnections' | 'requestHead'>> = {},
): Promise<{ readonly all: readonly Listening[]; close(): Promise<void> }> {
  const limits = { documentsPerAddress: UNBOUNDED, keyRequestsPerAddress: UNBOUNDED, ...bounds };
  const keyServer = await startRig({
    limits,
    config: {
      admin: { listen },
      metrics: { listen },
      httpcrypt: { listen, url: 'http://keys.example/crypt/', rotateMinutes: 60 },
    },
  });
  const reader = await startReaderRig({ proxy: { otherUsers: true } }); // finding out whose each connection is takes longer than the rest
  Object.assign(reader.limits, bounds);
  await reader.restart();
  const at = (name: Listening['name'], url: string | undefined, more: Partial<Listening> = {}): Listening => {
    const { port, host, pathname } = new URL(url ?? '');
    return { name, port: Number(port), host, path: pathname, elsewhere: 421, ...more };
  };
  const posting = (url: string, path: string) => ({ form: { path, fields: [`Origin: ${new URL(url).origin}`] } });
  const { url, readingUrl, documentsUrl, adminUrl = '', metricsUrl, ports } = keyServer.server;
  const store = join(keyServer.folder, 'certificates.db');
  const near = await startNear({ far: '127.0.0.1:1', listen: '127.0.0.1:0', store });
  const proxy = { elsewhere: 403, isProxy: true } as const;
  const [site] = await reader.proxy.sites();
  return {
    all: [
      at('API', url, { form: { path: '/v1/keys', fields: [] } }),
      at('reading site', readingUrl, posting(readingUrl, '/-/join')),
      at('documents', documentsUrl),
      at('operators', adminUrl, { path: '/-/style.css' }),
      at('metrics', metricsUrl),
      at('HTTPCrypt', `http://127.0.0.1:${ports.httpcrypt}/crypt/`, {
        elsewhere: undefined,
        form: { path: '/crypt/', fields: [] },
      }),
      at('Reader', reader.proxy.page, { ...proxy, ...posting(reader.proxy.page, '/settings') }),
      at('gateway', site?.gateway, proxy),
      at('near relay', `http://${near.address}/`, { elsewhere: undefined }),
    ],
    close: async () => {
      await near.close();
      await reader.close();
      await keyServer.close();
    },
  };
}
