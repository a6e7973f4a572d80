/** Values of the placeholders `{{name}}` of each template. */
import { readProgramFile } from '../node-support/program-files.ts';
import { typeLines } from './media-types.ts';
import type { CompleteParameters, ConfigName } from './parameters.ts';

const MEGABYTE = 1_048_576;
/** Folders in which Debian has the modules and plugins. */
const APACHE_MODULES = '/usr/lib/apache2/modules';
const TRAFFIC_SERVER_PLUGINS = '/usr/lib/trafficserver/modules';

type Values = Readonly<Record<string, unknown>>;

/** Address and port as most servers write them. */
export function authority(host: string, port: number): string {
  return `${bracketed(host)}:${port}`;
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

const contentHost = (p: CompleteParameters['apache']) => ({ ...p, listen: authority(p.address, p.port) });

type ReverseParameters = Omit<CompleteParameters['nginx-cache'], 'diskMegabytes'> & { largestObjectMegabytes?: number };
const reverseCache = (p: ReverseParameters) => ({
  ...p,
  listen: authority(p.address, p.port),
  backend: authority(p.backend.host, p.backend.port),
  backendHost: p.backend.host,
  backendPort: p.backend.port,
  largestObjectBytes: (p.largestObjectMegabytes ?? 0) * MEGABYTE,
});

export const VALUES: { readonly [Name in ConfigName]: (p: CompleteParameters[Name]) => Values } = {
  nginx: (p) => ({
    ...contentHost(p),
    serverName: p.host === undefined ? '# Whatever the host name in the request.' : `server_name ${p.host};`,
    https: p.certificate === undefined ? '# No HTTPS here: a cache or CDN in front may end it.' : nginxHttps(p),
    types: typeLines((type, suffixes) => `    ${type} ${suffixes.join(' ')};`),
  }),
  apache: (p) => ({
    ...contentHost(p),
    modules: APACHE_MODULES,
    types: typeLines((type, suffixes) => `AddType ${type} ${suffixes.map((suffix) => `.${suffix}`).join(' ')}`),
  }),
  caddy: contentHost,
  lighttpd: (p) => ({
    ...contentHost(p),
    bind: bracketed(p.address),
    types: typeLines((type, suffixes) => suffixes.map((suffix) => `  ".${suffix}" => "${type}",`).join('\n')),
  }),
  'nginx-cache': reverseCache,
  'apache-cache': (p) => ({ ...reverseCache(p), modules: APACHE_MODULES }),
  varnish: reverseCache,
  'squid-reverse': (p) => ({ ...reverseCache(p), ...squidStorage(p) }),
  haproxy: reverseCache,
  trafficserver: (p) => ({
    ...reverseCache(p),
    listen: `${p.port}:ip-in=${bracketed(p.address)}`,
    plugins: TRAFFIC_SERVER_PLUGINS,
  }),
  squid: (p) => ({
    ...p,
    listen: authority(p.address, p.port),
    clients: p.clients.join(' '),
    webPorts: p.webPorts.join(' '),
    tunnelPorts: p.tunnelPorts.join(' '),
    sites: squidSites(p.sites),
    loopback: p.allowLoopback
      ? '# This machine may be asked too: this is a test or a demonstration.'
      : '# What runs on this machine trusts loopback; readers come from elsewhere.\nhttp_access deny to_localhost',
    ...squidStorage(p),
  }),
  cloudflare: (p) => ({ ...p, ...notFound(p) }),
  netlify: (p) => ({ ...p, ...notFound(p) }),
  'github-pages': (p) => ({ ...p, ...notFound(p) }),
  s3: (p) => ({ ...p, ...notFound(p) }),
  cloudfront: ({ backend }) => ({ backendHost: backend.host, backendPort: backend.port }),
  fastly: () => ({}),
};

/** Returns the page with which hosts that cannot redirect answer where there is no file. */
function notFound({ readingOrigin }: { readonly readingOrigin: string }): Values {
  const page = readProgramFile('templates/not-found.html', import.meta.url).toString();
  return { notFoundPage: page.trimEnd().replaceAll('{{readingOrigin}}', readingOrigin) };
}

/** Browsers read fallback pages over HTTPS; readers may use either, because they verify what they get. */
function nginxHttps(p: CompleteParameters['nginx']): string {
  return [
    `listen ${authority(p.address, p.httpsPort)} ssl http2 default_server;`,
    `ssl_certificate ${p.certificate};`,
    `ssl_certificate_key ${p.certificateKey};`,
    'ssl_protocols TLSv1.2 TLSv1.3;',
    'ssl_session_cache shared:tls:10m;',
  ].join('\n    ');
}

type SquidStorage = Pick<
  CompleteParameters['squid'],
  'memoryMegabytes' | 'diskMegabytes' | 'largestObjectMegabytes' | 'stateDirectory'
>;

function squidStorage(p: SquidStorage): Values {
  const inMemory = p.diskMegabytes > 0 ? 4 : Math.min(p.largestObjectMegabytes, p.memoryMegabytes);
  return {
    largestInMemoryMegabytes: inMemory,
    disk:
      p.diskMegabytes > 0
        ? `cache_dir aufs ${p.stateDirectory}/cache ${p.diskMegabytes} 16 64`
        : '# Memory only: nothing is kept over a restart.',
  };
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
