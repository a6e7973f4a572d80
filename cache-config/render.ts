/**
 * Configurations for the servers that stand between publisher and readers: nginx, Varnish and Squid. The templates beside
 * this file are what operators, the tests and the demonstration use, as they are.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type CacheName, type CacheParameters, type CompleteParameters, completeParameters } from './parameters.ts';

const MEGABYTE = 1_048_576;
const TEMPLATES = { nginx: 'nginx.conf', varnish: 'varnish.vcl', squid: 'squid.conf' };

/** The file name that the configuration goes by. */
export function configFileName(name: CacheName): string {
  return TEMPLATES[name];
}

/**
 * The text of a configuration.
 *
 * @param name which server
 * @param parameters see {@link CacheParameters}; what has a default can be left out
 * @throws {CacheConfigError} `argument-invalid`
 */
export function renderCacheConfig<Name extends CacheName>(name: Name, parameters: CacheParameters[Name]): string {
  const values: Record<string, string> = {
    ...RENDERED[name](completeParameters(name, parameters) as never),
    command: serverCommand(name, parameters).map(quoted).join(' '),
  };
  const template = readFileSync(new URL(TEMPLATES[name], import.meta.url), 'utf8');
  return template.replace(/\{\{(\w+)\}\}/g, (_, key: string) => {
    const value = values[key];
    if (value === undefined) throw new Error(`no value for {{${key}}} in ${TEMPLATES[name]}`);
    return value;
  });
}

/**
 * The command that runs the server in the foreground with its rendered configuration, which is expected in its state
 * directory. Program first; the program may stand outside PATH.
 *
 * @throws {CacheConfigError} `argument-invalid`
 */
export function serverCommand<Name extends CacheName>(name: Name, parameters: CacheParameters[Name]): string[] {
  const complete = completeParameters(name, parameters);
  const directory = complete.stateDirectory;
  const file = `${directory}/${TEMPLATES[name]}`;
  if (name === 'nginx') return ['nginx', '-p', directory, '-c', file, '-e', 'stderr', '-g', 'daemon off;'];
  if (name === 'squid') return ['squid', '-N', '-n', squidServiceName(directory), '-f', file];
  const { memoryMegabytes } = complete as CompleteParameters['varnish'];
  const storage = `default,${memoryMegabytes}m`;
  return ['varnishd', '-F', '-n', `${directory}/varnishd`, '-a', listen(complete), '-f', file, '-s', storage];
}

/**
 * Squid keeps shared memory under this name, also with one process; two of the same name take it from each other. Letters and
 * digits only.
 */
export function squidServiceName(stateDirectory: string): string {
  return `wispr${createHash('sha256').update(stateDirectory).digest('hex').slice(0, 12)}`;
}

/** For a shell. */
function quoted(argument: string): string {
  return /[ ;]/.test(argument) ? `'${argument}'` : argument;
}

function listen({ address, port }: { address: string; port: number }): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

const RENDERED = {
  nginx: (p: CompleteParameters['nginx']) => ({
    listen: listen(p),
    serverName: p.host === undefined ? '# Whatever the host name in the request.' : `server_name ${p.host};`,
    https: p.certificate === undefined ? '# No HTTPS here: a cache or CDN in front may end it.' : nginxHttps(p),
    root: p.root,
    readingOrigin: p.readingOrigin,
    user: p.user,
    maxAgeSeconds: String(p.maxAgeSeconds),
    stateDirectory: p.stateDirectory,
  }),
  varnish: (p: CompleteParameters['varnish']) => ({
    backendHost: p.backend.host,
    backendPort: String(p.backend.port),
    largestObjectBytes: String(p.largestObjectMegabytes * MEGABYTE),
    graceSeconds: String(p.graceSeconds),
  }),
  squid: (p: CompleteParameters['squid']) => ({
    listen: listen(p),
    user: p.user,
    visibleHostname: p.visibleHostname,
    stateDirectory: p.stateDirectory,
    clients: p.clients.join(' '),
    webPorts: p.webPorts.join(' '),
    tunnelPorts: p.tunnelPorts.join(' '),
    sites: squidSites(p.sites),
    loopback: p.allowLoopback
      ? '# This machine may be asked too: this is a test or a demonstration.'
      : '# What runs on this machine trusts loopback; readers come from elsewhere.\nhttp_access deny to_localhost',
    largestObjectMegabytes: String(p.largestObjectMegabytes),
    memoryMegabytes: String(p.memoryMegabytes),
    largestInMemoryMegabytes: String(p.diskMegabytes > 0 ? 4 : Math.min(p.largestObjectMegabytes, p.memoryMegabytes)),
    disk:
      p.diskMegabytes > 0
        ? `cache_dir aufs ${p.stateDirectory}/cache ${p.diskMegabytes} 16 64`
        : '# Memory only: nothing is kept over a restart.',
  }),
};

/** Browsers read fallback pages over HTTPS; readers may use either, because they verify what they get. */
function nginxHttps(p: CompleteParameters['nginx']): string {
  return [
    `listen ${listen({ ...p, port: p.httpsPort })} ssl http2 default_server;`,
    `ssl_certificate ${p.certificate};`,
    `ssl_certificate_key ${p.certificateKey};`,
    'ssl_protocols TLSv1.2 TLSv1.3;',
    'ssl_session_cache shared:tls:10m;',
  ].join('\n    ');
}

/** Sites with a place of their own: the URL, and so the name under which the answer is kept, stays the site's. */
function squidSites(sites: CompleteParameters['squid']['sites']): string {
  if (sites.length === 0) return '# Every site is fetched from the address that its name has.';
  const lines = ['# These sites are fetched from the given place, under their own names.'];
  for (const [index, { site, host, port }] of sites.entries()) {
    lines.push(
      `acl site${index} dstdomain ${site}`,
      `cache_peer ${host} parent ${port} 0 originserver no-query no-digest no-netdb-exchange name=site${index}`,
      `cache_peer_access site${index} allow site${index}`,
      `cache_peer_access site${index} deny all`,
      `never_direct allow site${index}`,
      `http_access allow site${index}`,
    );
  }
  return lines.join('\n');
}
