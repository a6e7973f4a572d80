/** A cache as an access network or an office has it: Squid with its defaults, in memory, before the sites. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accepts, type Child, startChild, until } from '../../cache-config/child.ts';
import { FAR } from '../link/narrow-link.ts';
import { CACHE_PORT, CLEAR_PORT, COMPRESSING_PORT, HOSTS } from './setting.ts';

const START = 20_000;

/** An empty one, in a folder inside `directory`. */
export async function startCache(directory: string): Promise<Child> {
  const home = await mkdtemp(join(directory, 'squid-'));
  const file = join(home, 'squid.conf');
  const peer = (name: string, port: number, host: string) =>
    `cache_peer ${FAR} parent ${port} 0 no-query no-digest no-netdb-exchange originserver name=${name}
acl ${name} dstdomain ${host}
cache_peer_access ${name} allow ${name}`;
  await writeFile(
    file,
    `http_port 127.0.0.1:${CACHE_PORT} accel vhost
${peer('clear', CLEAR_PORT, HOSTS.cached)}
${peer('compressed', COMPRESSING_PORT, HOSTS.both)}
never_direct allow all
http_access allow all
visible_hostname cache
pid_filename none
access_log none
cache_store_log none
cache_log /dev/stderr
netdb_filename none
pinger_enable off
memory_cache_shared off
cache_mem 256 MB
maximum_object_size_in_memory 16 MB
max_filedescriptors 4096
shutdown_lifetime 1 second
`,
    { mode: 0o644 },
  );
  const child = startChild(['/usr/sbin/squid', '-N', '-f', file], home, { stopSignal: 'SIGKILL' });
  await until(async () => child.ended() !== undefined || (await accepts(CACHE_PORT)), START);
  if (child.ended() !== undefined) throw new Error(`squid: ${await readFile(join(home, 'output.log'), 'utf8')}`);
  return child;
}
