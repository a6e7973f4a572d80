/** nginx with TLS 1.3 and one worker, as there is one Node.js. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accepts, freePort, startChild, until } from '../cache-config/child.ts';

export interface StartedNginx {
  /** Ports of plain HTTP and of HTTPS. */
  readonly plain: number;
  readonly https: number;
  /** Of the worker. */
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

export interface NginxOptions {
  /** Has `cert.pem` and `key.pem`. */
  readonly folder: string;
  /** Of what it serves at `/answer`. */
  readonly length: number;
  /** Whether connections are resumed. */
  readonly tickets: 'on' | 'off';
}

export async function startNginx({ folder, length, tickets }: NginxOptions): Promise<StartedNginx> {
  const own = mkdtempSync(join(tmpdir(), 'wispr-bench-nginx-'));
  const [plain, https] = [await freePort(), await freePort()];
  writeFileSync(join(own, 'answer'), new Uint8Array(length).fill(65));
  writeFileSync(
    join(own, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
    events { worker_connections 1024; }
    http {
      access_log off; keepalive_requests 1000000000; default_type application/octet-stream;
      client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
      ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem; ssl_protocols TLSv1.3;
      ssl_session_cache off; ssl_session_tickets ${tickets};
      server { listen 127.0.0.1:${plain}; listen 127.0.0.1:${https} ssl; root ${own}; }
    }`,
  );
  const child = startChild(['nginx', '-p', `${own}/`, '-c', 'nginx.conf'], own, { stopSignal: 'SIGTERM' });
  if (!(await until(() => accepts(https), 20_000))) {
    await child.stop();
    throw new Error(`nginx does not run: ${child.ended()}`);
  }
  const workers = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return { plain, https, pid: Number.parseInt(workers, 10), stop: child.stop };
}
