/** Facts that both sides know: the sites, and the ways to them. */
import type { Load } from '../link/load.ts';

/** A public site as a Debian package has it, and one of its pages. */
export interface Site {
  readonly address: string;
  readonly package: string;
  readonly folder: string;
  /** Path at the server of the far side. */
  readonly at: string;
  readonly page: string;
  /** Last headline of the page. */
  readonly headline: string;
}

export const SITES: readonly Site[] = [
  {
    address: 'debian-handbook.info',
    package: 'debian-handbook',
    folder: '/usr/share/doc/debian-handbook/html/en-US',
    at: '/handbook/',
    page: 'apt.html',
    headline: 'Caching Proxy for Debian Packages',
  },
  {
    address: 'docs.python.org',
    package: 'python3.11-doc',
    folder: '/usr/share/doc/python3.11/html',
    at: '/python/',
    page: 'library/asyncio-task.html',
    headline: 'Task Object',
  },
  {
    address: 'www.sqlite.org',
    package: 'sqlite3-doc',
    folder: '/usr/share/doc/sqlite3',
    at: '/sqlite/',
    page: 'atomiccommit.html',
    headline: 'Future Directions And Conclusion',
  },
];

/** Ports of the far side: as the origin has it, and by way of a program that compresses. */
export const CLEAR_PORT = 80;
export const COMPRESSING_PORT = 81;
export const CACHE_PORT = 7020;

/** Host names: each stands for a way. */
export const HOSTS = {
  clear: 'clear.sites.example',
  compressed: 'compressed.sites.example',
  cached: 'cached.sites.example',
  both: 'both.sites.example',
  tls: 'tls.sites.example',
  tlsCompressed: 'tls-compressed.sites.example',
} as const;

/** `gzip`: by the origin. */
interface WayTo {
  readonly name: string;
  readonly origin: string;
  /** State of the cache: empty, or it has answered another reader. */
  readonly cache?: 'cold' | 'warm';
}

export const WAYS: readonly WayTo[] = [
  { name: 'HTTP', origin: `http://${HOSTS.clear}` },
  { name: 'gzip in the path', origin: `http://${HOSTS.compressed}` },
  { name: 'Squid, cold', origin: `http://${HOSTS.cached}`, cache: 'cold' },
  { name: 'Squid, warm', origin: `http://${HOSTS.cached}`, cache: 'warm' },
  { name: 'gzip and Squid, cold', origin: `http://${HOSTS.both}`, cache: 'cold' },
  { name: 'HTTPS', origin: `https://${HOSTS.tls}` },
  { name: 'HTTPS, gzip', origin: `https://${HOSTS.tlsCompressed}` },
];

export interface SiteSetting {
  readonly directory: string;
  /** SHA-256 of the certificate's public key, base64. */
  readonly pin: string;
}

/** A page is prepared while the link is fast. `way`: its place in {@link WAYS}. */
export type SiteCommand = { readonly do: 'prepare'; readonly way: number } | ({ readonly do: 'load' } & Load);
