/** The far side: nginx has the sites as they are, compresses in another server before that one, and ends TLS. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startChild, until } from '../../../cache-config/child.ts';
import type { Chain } from '../page/certificates.ts';
import { CLEAR_PORT, COMPRESSING_PORT, HOSTS, SITES } from './setting.ts';

const TYPES = 'text/css text/plain text/javascript application/javascript application/json image/svg+xml';

/** Starts it in `directory`. @returns its end */
export async function startFar(directory: string, { chain, key }: Chain): Promise<() => Promise<void>> {
  const home = join(directory, 'nginx');
  await mkdir(home);
  const places = SITES.map(({ at, folder }) => `location ${at} { alias ${folder}/; }`).join(' ');
  const compress = `gzip on; gzip_vary on; gzip_proxied any; gzip_min_length 256; gzip_types ${TYPES};`;
  const tls = `ssl_certificate ${chain}; ssl_certificate_key ${key}; ssl_protocols TLSv1.3;`;
  const passed = `proxy_http_version 1.1; proxy_pass http://127.0.0.1:${CLEAR_PORT};`;
  const file = join(home, 'nginx.conf');
  await writeFile(
    file,
    `user root; worker_processes 1; daemon off; pid ${home}/pid; error_log stderr;
events { worker_connections 512; }
http {
  include /etc/nginx/mime.types; access_log off; sendfile on; tcp_nopush on; keepalive_timeout 75;
  server { listen ${CLEAR_PORT} default_server; ${places} }
  server { listen ${CLEAR_PORT}; listen ${COMPRESSING_PORT}; server_name ${HOSTS.compressed} ${HOSTS.both}; ${compress} location / { ${passed} } }
  server { listen 443 ssl; server_name ${HOSTS.tls}; ${tls} ${places} }
  server { listen 443 ssl; server_name ${HOSTS.tlsCompressed}; ${tls} ${compress} ${places} }
}
`,
  );
  const child = startChild(['/usr/sbin/nginx', '-c', file, '-p', home], home, { stopSignal: 'SIGTERM' });
  await until(async () => (await readFile(join(home, 'pid'), 'utf8').catch(() => '')) !== '', 10_000);
  if (child.ended() !== undefined) throw new Error(`nginx: ${await readFile(join(home, 'output.log'), 'utf8')}`);
  return () => child.stop();
}
