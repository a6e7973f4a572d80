/** Values for configurations: only characters that mean nothing special in any of them; nothing is escaped. */
import { isIP } from 'node:net';
import { posix } from 'node:path';
import { z } from 'zod';
import { isOrigin } from '../core/site/site.ts';
import { isRange } from '../node-support/addresses.ts';
import { CacheConfigError } from './errors.ts';

export const HOST_NAMES = ['nginx', 'apache', 'caddy', 'lighttpd'] as const;
/** Stand in front of a content host, or of another of them. */
export const REVERSE_NAMES = [
  'nginx-cache',
  'apache-cache',
  'varnish',
  'squid-reverse',
  'haproxy',
  'trafficserver',
] as const;
/** Servers that run here; `squid` is the one that readers are told of. */
export const SERVER_NAMES = [...HOST_NAMES, ...REVERSE_NAMES, 'squid'] as const;
/** Hosts and CDNs of others, which take rules. */
const RULE_NAMES = ['cloudflare', 'netlify', 'github-pages', 's3', 'cloudfront', 'fastly'] as const;
export const CONFIG_NAMES = [...SERVER_NAMES, ...RULE_NAMES] as const;
export type HostName = (typeof HOST_NAMES)[number];
export type ReverseName = (typeof REVERSE_NAMES)[number];
export type ServerName = (typeof SERVER_NAMES)[number];
export type ConfigName = (typeof CONFIG_NAMES)[number];

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** A path of the operator's own choice: it stands unquoted in three syntaxes and on a command line. */
const PLAIN_PATH = /^(\/[A-Za-z0-9._@+~-]+)+$/;
/** A quoted string in nginx: no quote, variable, escape, comment or control character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const QUOTABLE_PATH = /^\/[^\u0000-\u001f\u007f"'`$\\{};#]+$/;

const isNormal = (path: string) => posix.normalize(path) === path && !path.endsWith('/');
const hostName = z.string().regex(HOST_NAME, 'must be a host name in lower case');
const address = z.string().refine((text) => isIP(text) !== 0 && !text.includes('%'), 'must be an IP address');
const host = z.union([address, hostName], { error: 'must be a host name in lower case or an IP address' });
const port = z.int().min(1).max(65_535);
/** Takes further fields: a running server has some. */
const endpoint = z.object({ host, port });
const plainPath = z
  .string()
  .refine(
    (path) => PLAIN_PATH.test(path) && isNormal(path),
    'must be an absolute path of letters, digits and . _ @ + ~ -',
  );
const quotablePath = z
  .string()
  .refine(
    (path) => QUOTABLE_PATH.test(path) && isNormal(path),
    'must be an absolute path without quotes, $ \\ { } ; #',
  );
/** Names that Amazon allows, without the dots that its certificates do not cover. */
const bucketName = z.string().regex(/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/, 'must be the name of a bucket, without dots');
const userName = z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'must be the name of a user of this machine');
const seconds = z.int().min(0).max(31_536_000);
const megabytes = (least: number) => z.int().min(least).max(1_048_576);
const portRange = z.string().refine(isPortRange, 'must be a port or a range of ports, like 8000-8999');
const network = z.string().refine(isRange, 'must be an IP address or network, like 10.0.0.0/8');
const origin = z
  .string()
  .refine(isPlainOrigin, 'must be an HTTPS origin without a path, like https://read.news.example');

function isPortRange(text: string): boolean {
  const parts = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
  if (!parts) return false;
  const [first, last] = [Number(parts[1]), Number(parts[2] ?? parts[1])];
  return first >= 1 && first <= last && last <= 65_535;
}

/** An origin that browsers may be sent to, of characters that are plain in nginx too: a URL's host may contain `;` and `"`. */
function isPlainOrigin(text: string): boolean {
  return /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/.test(text) && isOrigin(text, { allowLoopback: true });
}

/** @param name - of the directory that a server keeps everything in */
const stateDirectory = (name: string) => plainPath.default(`/var/lib/wispr-${name}`);

const contentHost = (name: HostName) => ({
  /** The directory that `wispr protect` writes. */
  root: quotablePath.default('/srv/wispr'),
  /** Origin to which browsers without a reader are sent, like `https://read.news.example`. */
  readingOrigin: origin,
  address: address.default('127.0.0.1'),
  port: port.default(8080),
  /** Time for which caches may keep an answer without asking again. */
  maxAgeSeconds: seconds.default(300),
  stateDirectory: stateDirectory(name),
});

const reverseCache = (name: ReverseName) => ({
  /** The content host, or the next cache. */
  backend: endpoint.default({ host: '127.0.0.1', port: 8080 }),
  address: address.default('127.0.0.1'),
  port: port.default(6081),
  stateDirectory: stateDirectory(name),
});

const memoryMegabytes = megabytes(8).default(256);
const diskMegabytes = megabytes(0).default(4096);
const largestObjectMegabytes = (megabytesByDefault: number) => megabytes(1).default(megabytesByDefault);

/** Parameters of a host or CDN of others: where browsers without a reader are sent. */
const rules = { readingOrigin: origin };

/** The parameters of each configuration, with the defaults that suit an operator. */
const parameters = {
  nginx: z
    .strictObject({
      ...contentHost('nginx'),
      host: hostName.optional(),
      /** PEM files of certificate chain and key, both or neither: with them, HTTPS is served besides. */
      certificate: plainPath.optional(),
      certificateKey: plainPath.optional(),
      httpsPort: port.default(443),
      /** The user that reads the tree, if nginx is started by root. */
      user: userName.default('www-data'),
    })
    .refine(({ certificate, certificateKey }) => (certificate === undefined) === (certificateKey === undefined), {
      path: ['certificate'],
      message: 'a certificate needs its key, and a key its certificate',
    }),
  apache: z.strictObject(contentHost('apache')),
  caddy: z.strictObject(contentHost('caddy')),
  lighttpd: z.strictObject(contentHost('lighttpd')),
  'nginx-cache': z.strictObject({
    ...reverseCache('nginx-cache'),
    diskMegabytes,
  }),
  'apache-cache': z.strictObject({
    ...reverseCache('apache-cache'),
    largestObjectMegabytes: largestObjectMegabytes(512),
  }),
  varnish: z.strictObject({
    ...reverseCache('varnish'),
    memoryMegabytes,
    /** Longer answers are handed through. */
    largestObjectMegabytes: largestObjectMegabytes(64),
    graceSeconds: seconds.default(30),
  }),
  'squid-reverse': z.strictObject({
    ...reverseCache('squid-reverse'),
    memoryMegabytes,
    diskMegabytes,
    largestObjectMegabytes: largestObjectMegabytes(512),
  }),
  haproxy: z
    .strictObject({
      ...reverseCache('haproxy'),
      /** HAProxy takes no more. */
      memoryMegabytes: memoryMegabytes.pipe(megabytes(8).max(4095)),
      largestObjectMegabytes: largestObjectMegabytes(16),
    })
    .refine((p) => p.largestObjectMegabytes * 2 <= p.memoryMegabytes, {
      path: ['largestObjectMegabytes'],
      message: 'must be at most half of the memory',
    }),
  trafficserver: z.strictObject({ ...reverseCache('trafficserver'), diskMegabytes: megabytes(128).default(4096) }),
  squid: z.strictObject({
    address: address.default('127.0.0.1'),
    port: port.default(3128),
    /** Addresses or networks of clients that may use it. */
    clients: z.array(network).min(1).default(['127.0.0.1', '::1']),
    webPorts: z.array(portRange).min(1).default(['80', '443']),
    tunnelPorts: z.array(portRange).min(1).default(['443']),
    /** Sites that are fetched from a given cache or host instead of the address that their name has. */
    sites: z.array(z.strictObject({ site: hostName, host, port })).default([]),
    /** Lets it fetch from this machine, for tests and demonstrations. */
    allowLoopback: z.boolean().default(false),
    memoryMegabytes,
    /** 0: memory only. */
    diskMegabytes,
    largestObjectMegabytes: largestObjectMegabytes(512),
    /** The user that it becomes, if it is started by root. */
    user: userName.default('proxy'),
    /** The name in its error pages and its `X-Cache` field. */
    visibleHostname: hostName.default('wispr-cache'),
    stateDirectory: stateDirectory('squid'),
  }),
  cloudflare: z.strictObject({ ...rules, host: hostName }),
  netlify: z.strictObject(rules),
  'github-pages': z.strictObject({ ...rules, host: hostName }),
  s3: z.strictObject({ ...rules, bucket: bucketName }),
  cloudfront: z.strictObject({ backend: endpoint }),
  fastly: z.strictObject({}),
};

/** Parameters as a caller gives them: those with a default are optional. */
export type ConfigParameters = { [Name in ConfigName]: z.input<(typeof parameters)[Name]> };
export type CompleteParameters = { [Name in ConfigName]: z.output<(typeof parameters)[Name]> };

/** Tells whether the configuration `name` has this parameter. */
export function hasParameter(name: ConfigName, parameter: string): boolean {
  return parameter in parameters[name].shape;
}

/** Tells whether the configuration `name` cannot do without this parameter. */
export function needsParameter(name: ConfigName, parameter: string): boolean {
  const shape: Readonly<Record<string, z.ZodType>> = parameters[name].shape;
  return shape[parameter]?.safeParse(undefined).success === false;
}

/** Checks the parameters of `name`, and fills in the defaults. @throws {CacheConfigError} `argument-invalid` */
export function completeParameters<Name extends ConfigName>(
  name: Name,
  given: ConfigParameters[Name],
): CompleteParameters[Name] {
  const checked = parameters[name].safeParse(given);
  if (checked.success) return checked.data as CompleteParameters[Name];
  const [issue] = checked.error.issues;
  const where = issue?.path.join('.') ?? '';
  const what = issue?.message.replace(/^[A-Z]/, (letter) => letter.toLowerCase()) ?? 'not understood';
  throw new CacheConfigError('argument-invalid', `${name} configuration: ${where === '' ? '' : `${where}: `}${what}`, {
    typed: true,
  });
}
