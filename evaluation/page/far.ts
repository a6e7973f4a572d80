/** The far side: the newspaper and a page of the Debian handbook in clear, the same protected, and the key server; nginx ends TLS for all. */
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../bench/measure.ts';
import { CDN, initNewspaper, KEYS, PAGES, PLAIN, passedTo, READ, startKeyServer } from '../../bench/newspaper.ts';
import { runNginx } from '../../bench/nginx.ts';
import { NODE, WISPR } from '../../bench/processes.ts';
import { startNginx } from '../../cache-config/servers.ts';
import { chooseSite } from '../../serve/site.ts';
import { makeChain } from '../../tests/support/certificates.ts';
import { HTTP2_PORT, type PageSetting, PROTECTED_PORT, SITE } from './setting.ts';

const HANDBOOK = '/usr/share/doc/debian-handbook/html/en-US';
const PASSPHRASE = 'evaluate evaluate evaluate';
const PORTS = { keys: 7001, read: 7002, pages: 7003 };

/** Starts everything in `directory`. @returns what the near side has to know */
export async function startFar(
  directory: string,
  endings: AsyncDisposableStack,
): Promise<Omit<PageSetting, 'directory'>> {
  const source = await makeSource(directory);
  const hosts = [PLAIN, CDN, KEYS, READ, PAGES].map((host) => `DNS:${host}`);
  const { certFile, keyFile, rootFile, pin } = await makeChain(directory, 'sites', 'ecdsa', hosts);
  const chain = { chain: certFile, key: keyFile };
  const wispr = (...args: string[]) => runCommand(NODE, [WISPR, ...args], directory);
  await startKeyServer(directory, PORTS, { fetchFrom: { [SITE]: `http://127.0.0.1:${PROTECTED_PORT}` } }, endings);
  await initNewspaper(directory, PASSPHRASE, source);
  await writeFile(join(directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  await wispr('protect', '--quiet', '--passphrase-file', 'passphrase');
  await wispr('admin', 'import', 'keys.bundle');
  const host = await startNginx({ root: join(directory, 'protected'), readingOrigin: `https://${READ}` });
  endings.defer(() => host.stop());
  await startFront(directory, source, host.port, chain, endings);
  const link = async (name: string) => (JSON.parse(await wispr('invite', name, '--json')) as { link: string }).link;
  return { ...chain, authority: rootFile, pin, links: [await link('reader'), await link('browser')] };
}

/** The newspaper, and a chapter of the handbook with all that it loads. */
async function makeSource(directory: string): Promise<string> {
  const source = join(directory, 'source');
  const { source: newspaper = '' } = await chooseSite();
  await cp(newspaper, source, { recursive: true });
  await cp(HANDBOOK, join(source, 'handbook'), { recursive: true, dereference: true });
  return source;
}

/** Listens where the near side looks. */
async function startFront(
  directory: string,
  source: string,
  port: number,
  { chain, key }: { chain: string; key: string },
  endings: AsyncDisposableStack,
): Promise<void> {
  const home = join(directory, 'front');
  await mkdir(home);
  const tls = `ssl_certificate ${chain}; ssl_certificate_key ${key}; ssl_protocols TLSv1.3;`;
  const clear = `root ${source}; index index.html;`;
  const passed = (name: string, to: number) => `server { listen 443 ssl; server_name ${name}; ${tls} ${passedTo(to)} }`;
  const child = await runNginx(
    home,
    `include /etc/nginx/mime.types; access_log off; sendfile on; tcp_nopush on; keepalive_timeout 75;
  gzip on; gzip_min_length 256; gzip_types text/css text/javascript application/javascript image/svg+xml;
  server { listen 80; server_name ${PLAIN}; ${clear} }
  server { listen 443 ssl; server_name ${PLAIN}; ${tls} ${clear} }
  server { listen ${HTTP2_PORT} ssl http2; server_name ${PLAIN}; ${tls} ${clear} }
  server { listen ${PROTECTED_PORT}; location / { gzip off; proxy_http_version 1.1; proxy_set_header Host $host; proxy_pass http://127.0.0.1:${port}; } }
  ${passed(KEYS, PORTS.keys)} ${passed(READ, PORTS.read)} ${passed(PAGES, PORTS.pages)}`,
  );
  endings.defer(() => child.stop());
}
