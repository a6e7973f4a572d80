/** The far side: nginx has the sites as they are, compresses in another server before that one, and ends TLS. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runNginx } from '../../bench/nginx.ts';
import type { Chain } from '../../tests/support/certificates.ts';
import { CLEAR_PORT, COMPRESSING_PORT, HOSTS, SITES } from './setting.ts';

const TYPES = 'text/css text/plain text/javascript application/javascript application/json image/svg+xml';

/** Starts it in `directory`. @returns its end */
export async function startFar(directory: string, { certFile, keyFile }: Chain): Promise<() => Promise<void>> {
  const home = join(directory, 'nginx');
  await mkdir(home);
  const places = SITES.map(({ at, folder }) => `location ${at} { alias ${folder}/; }`).join(' ');
  const compress = `gzip on; gzip_vary on; gzip_proxied any; gzip_min_length 256; gzip_types ${TYPES};`;
  const tls = `ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; ssl_protocols TLSv1.3;`;
  const passed = `proxy_http_version 1.1; proxy_pass http://127.0.0.1:${CLEAR_PORT};`;
  const child = await runNginx(
    home,
    `include /etc/nginx/mime.types; access_log off; sendfile on; tcp_nopush on; keepalive_timeout 75;
  server { listen ${CLEAR_PORT} default_server; ${places} }
  server { listen ${CLEAR_PORT}; listen ${COMPRESSING_PORT}; server_name ${HOSTS.compressed} ${HOSTS.both}; ${compress} location / { ${passed} } }
  server { listen 443 ssl; server_name ${HOSTS.tls}; ${tls} ${places} }
  server { listen 443 ssl; server_name ${HOSTS.tlsCompressed}; ${tls} ${compress} ${places} }`,
  );
  return () => child.stop();
}
