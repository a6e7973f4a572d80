/** Path between a Reader and the HTTPCrypt endpoint of a key server, all real: NSD for its names, nginx before it, and Squid as the parent proxy. */

import { Resolver } from 'node:dns/promises';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { accepts, freePort, startChild, until } from '../../cache-config/child.ts';
import { startSquid } from '../../cache-config/servers.ts';
import { temporaryFolder } from './keyserver-rig.ts';
import { started } from './started.ts';

/** nginx that hands everything on, as it comes, and logs it. @param more - directives */
export async function startReverseProxy(
  port: number,
  to: number,
  more = '',
): Promise<{ requests(): Promise<string>; stop(): Promise<void> }> {
  const folder = temporaryFolder();
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${user} daemon off; pid nginx.pid; error_log stderr; events {}
    http {
      log_format all '$request|$http_cookie|$content_type|$request_length|$status|$http_user_agent|$http_accept';
      client_max_body_size 0;
      access_log access.log all;
      client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass http://127.0.0.1:${to}; ${more} }
        location = /logged { access_log off; return 204; }
      }
    }`,
  );
  const child = startChild(['nginx', '-p', `${folder}/`, '-c', 'nginx.conf'], folder, { stopSignal: 'SIGTERM' });
  await started('nginx', child, () => accepts(port));
  const requests = async () => {
    await sendRaw(`http://127.0.0.1:${port}/logged`, 'GET', undefined); // lines are written after answers, and before the next one
    return readFileSync(join(folder, 'access.log'), 'utf8');
  };
  return { requests, stop: child.stop };
}

/** Squid through which `http://host` is reached at a port of this machine. */
export function startParentProxy(host: string, port: number, ...others: { site: string; port: number }[]) {
  const sites = [{ site: host, port }, ...others].map((site) => ({ ...site, host: '127.0.0.1' }));
  return startSquid({ connectLoopback: true, sites });
}

export interface NameServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
  /** Reads the records anew. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/** NSD with the zone of `host`, which includes a file of records. @param records - the file; what is in it can be chosen by `keep` */
export async function startNameServer(host: string, records: string, keep = /^/): Promise<NameServer> {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const port = await freePort();
  const chosen = join(folder, 'records');
  let serial = 0;
  const write = () => {
    serial++;
    const lines = readFileSync(records, 'utf8').split('\n');
    writeFileSync(
      chosen,
      lines
        .filter((line) => keep.test(line))
        .join('\n')
        .concat('\n'),
    );
    writeFileSync(
      join(folder, 'zone'),
      `$ORIGIN ${host}.\n@ 60 IN SOA ns hostmaster ${serial} 60 60 60 60\n@ 60 IN NS ns\nns 60 IN A 127.0.0.1\n$INCLUDE ${chosen}\n`,
    );
  };
  write();
  writeFileSync(
    join(folder, 'nsd.conf'),
    `server:\n  ip-address: 127.0.0.1@${port}\n  username: ""\n  zonesdir: "${folder}"\n  pidfile: "${folder}/nsd.pid"\n  database: ""\n  xfrdfile: ""\n  zonelistfile: "${folder}/zone.list"\n  server-count: 1\n` +
      `remote-control:\n  control-enable: no\nzone:\n  name: "${host}"\n  zonefile: "zone"\n`,
  );
  const child = startChild(['nsd', '-d', '-c', join(folder, 'nsd.conf')], folder, { stopSignal: 'SIGTERM' });
  const resolver = new Resolver({ timeout: 500, tries: 2 });
  resolver.setServers([`127.0.0.1:${port}`]);
  const hasSerial = () =>
    resolver.resolveSoa(host).then(
      (soa) => soa.serial === serial,
      () => false,
    );
  await started('nsd', child, hasSerial);
  return {
    address: `127.0.0.1:${port}`,
    reload: async () => {
      write();
      process.kill(Number(readFileSync(join(folder, 'nsd.pid'), 'utf8')), 'SIGHUP');
      if (!(await until(hasSerial, 20_000))) throw new Error('NSD did not read its zone again');
    },
    stop: child.stop,
  };
}

/** Sends what was recorded, or put together by hand. @param body - a list: in as many chunks, without a length @returns what is seen from outside */
export function sendRaw(
  url: string,
  method: string,
  cookie: string | undefined,
  body?: Uint8Array | readonly Uint8Array[],
): Promise<{ readonly status: number; readonly headers: string[]; readonly body: Buffer }> {
  return new Promise((resolve, reject) => {
    const chunks = body instanceof Uint8Array ? undefined : body;
    const length = body && (chunks ? { 'transfer-encoding': 'chunked' } : { 'content-length': body.length });
    const outgoing = request(
      url,
      { method, headers: { ...(cookie && { cookie }), ...length }, agent: false },
      async (answer) => {
        const names = Object.entries(answer.headers).filter(([name]) => name !== 'date');
        resolve({
          status: answer.statusCode ?? 0,
          headers: names.map(([name, value]) => `${name}: ${value}`),
          body: await buffer(answer),
        });
      },
    );
    for (const chunk of chunks ?? []) outgoing.write(chunk);
    outgoing.on('error', reject).end(body instanceof Uint8Array ? body : undefined);
  });
}
