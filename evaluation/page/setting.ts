/** Facts that both sides know of the page loads: names, ports, and what a reader is told. */
import type { Load } from '../link/load.ts';

export const SITE = 'news.example';
/** Port of the clear site at the origin by HTTP/2; it has those of HTTP and HTTPS too. */
export const HTTP2_PORT = 8443;
/** Port at which the far side serves the protected site to caches. */
export const PROTECTED_PORT = 8081;

export const WAYS = [
  'HTTP',
  'HTTPS',
  'HTTP/2',
  'gateway, cold',
  'gateway, second',
  'browser, cold',
  'browser, second',
] as const;
export type ReadingWay = (typeof WAYS)[number];

export interface PageSetting {
  readonly directory: string;
  /** PEM files: the chain, its key, and the authority. */
  readonly chain: string;
  readonly key: string;
  readonly authority: string;
  /** SHA-256 of the certificate's public key, base64, for Chromium. */
  readonly pin: string;
  /** Invitations for the Reader, and for the browser. */
  readonly links: readonly [string, string];
}

/** A page is prepared while the link is fast, and loaded while it is as slow as it is. */
export type PageCommand = { readonly do: 'prepare'; readonly way: ReadingWay } | ({ readonly do: 'load' } & Load);
