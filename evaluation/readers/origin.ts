/** An nginx whose bytes are counted, and a Squid in front of it with as much room as one wants. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../cache-config/child.ts';
import { startNginx, startReverse } from '../../cache-config/servers.ts';
import type { Chain } from '../../tests/support/certificates.ts';
import { startCounter } from '../../tests/support/link-counter.ts';

const WEEK = 604_800;

export type Origin = Awaited<ReturnType<typeof startOrigin>>;

export async function startOrigin(root: string, chain: Chain, endings: AsyncDisposableStack) {
  const started = <Ended extends { stop(): Promise<void> }>(server: Ended) => {
    endings.defer(() => server.stop());
    return server;
  };
  const tls = { certificate: chain.certFile, certificateKey: chain.keyFile, httpsPort: await freePort() };
  const host = { root, readingOrigin: 'https://read.news.example', maxAgeSeconds: WEEK, ...tls };
  const nginx = started(await startNginx(host));
  const [plain, secure] = [await startCounter(nginx.port), await startCounter(tls.httpsPort)];
  for (const { close } of [plain, secure]) endings.defer(close);
  const backend = { host: '127.0.0.1', port: plain.port };
  const squid = started(await startReverse('squid-reverse', { backend, diskMegabytes: 0 }));
  return {
    squid,
    /** Goes around the cache. */
    httpsUrl: `https://127.0.0.1:${secure.port}`,
    /** Empties the cache, and gives it as much room as is wanted: less than its configuration lets operators choose. */
    emptyCache: async (kibibytes: number) => {
      const file = join(squid.directory, 'squid-reverse.conf');
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace(/^cache_mem .*$/m, `cache_mem ${Math.ceil(kibibytes)} KB`));
      await squid.restart();
    },
    /** Bytes that it has sent since the last call: heads included, and what TLS adds. */
    takeSent: () => plain.take().down + secure.take().down,
  };
}
