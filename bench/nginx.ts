/** nginx with one worker, as there is one Node.js. */
import { mkdtemp, readFile, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Child, freePort, startChild, until } from '../cache-config/child.ts';
import { treeOf } from './proc.ts';

const START = 20_000;
/** Milliseconds until what nginx logs is in the file. */
const LOG_PAUSE = 200;

/**
 * Serves `/answer` of this length by HTTP, by TLS 1.3 with a whole handshake for each connection, as in the paper, and by TLS 1.3 with tickets.
 *
 * @param folder - has `cert.pem` and `key.pem` @returns with the process id of the worker
 */
export async function startNginx(folder: string, length: number) {
  const home = await mkdtemp(join(tmpdir(), 'wispr-bench-nginx-'));
  const [plain, full, resuming] = [await freePort(), await freePort(), await freePort()];
  await writeFile(join(home, 'answer'), new Uint8Array(length).fill(65));
  const log = join(home, 'resumed.log');
  const { pid, stop } = await runNginx(
    home,
    `log_format resumed $ssl_session_reused; access_log ${log} resumed buffer=64k flush=${LOG_PAUSE}ms;
  keepalive_requests 1000000000; default_type application/octet-stream; root ${home};
  ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem; ssl_protocols TLSv1.3; ssl_session_cache off;
  server { listen 127.0.0.1:${plain}; }
  server { listen 127.0.0.1:${full} ssl; ssl_session_tickets off; }
  server { listen 127.0.0.1:${resuming} ssl; ssl_session_tickets on; }`,
  );
  await until(async () => (await treeOf(pid)).length > 1, START);
  const [, worker = Number.NaN] = await treeOf(pid);
  /** Requests since the last call, and those on connections that resumed a session. */
  const seen = async () => {
    await setTimeout(2 * LOG_PAUSE);
    const text = await readFile(log, 'latin1');
    await truncate(log);
    return { requests: text.length / 2, resumed: text.split('r').length - 1 };
  };
  return { plain, full, resuming, seen, pid: worker, stop };
}

/** Starts nginx with one worker. @param home - for it alone; goes at its end @param http - of the block `http` */
export async function runNginx(home: string, http: string): Promise<Child> {
  const file = join(home, 'nginx.conf');
  await writeFile(
    file,
    `${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; daemon off; pid ${home}/pid; error_log stderr;
events { worker_connections 1024; }
http {
  client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
  ${http}
}
`,
  );
  const command = ['nginx', '-c', file, '-p', home, '-e', 'stderr'];
  const child = startChild(command, home, { stopSignal: 'SIGTERM' });
  // nginx writes its process id once it listens.
  const isReady = async () => (await readFile(join(home, 'pid'), 'utf8').catch(() => '')) !== '';
  await until(async () => child.ended() !== undefined || (await isReady()), START);
  if (child.ended() === undefined && (await isReady())) return child;
  const said = await readFile(join(home, 'output.log'), 'utf8');
  await child.stop();
  throw new Error(`nginx does not run: ${said}`);
}
