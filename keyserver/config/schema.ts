/** The members of `keyserver.json`, as the file may have them; docs/configuration.md is generated from this. */
import { z } from 'zod';
import { isHttpcryptUrl } from '../../core/httpcrypt/endpoint.ts';
import { isLoopback, isOrigin, isSite } from '../../core/site/site.ts';
import { limits, network } from './limits.ts';
import { mailConfig } from './mail.ts';
import { file } from './paths.ts';
import { entitlementConfig, openidConfig, stripeConfig } from './subscribers.ts';

const httpsOrigin = z
  .string()
  .refine((text) => isOrigin(text, { allowLoopback: true }), 'must be an https origin, like https://keys.news.example')
  .meta({ format: 'uri', title: 'origin' });

const listen = z
  .strictObject({ host: z.string().min(1), port: z.int().min(0).max(65_535) })
  .meta({ description: '`{ "host", "port" }` to listen on.' });
const tls = z
  .strictObject({ certificate: file(), key: file() })
  .meta({ description: '`{ "certificate", "key" }`: PEM files. TLS 1.3 only; read again when they change.' });

/** A password in it would stand in a file that others read, and in messages. */
const database = z
  .string()
  .refine(isPostgresUrl, 'must be like postgres://user@host/name, without a password: PGPASSWORD or ~/.pgpass hold it')
  .refine(isSafeWay, 'must end in ?sslmode=verify-full: the database is on another machine')
  .meta({
    description:
      'Instead of `data`: `postgres://USER@HOST/NAME?sslmode=verify-full`, a database at a PostgreSQL server. The password is in `PGPASSWORD` or `~/.pgpass`.',
  });

const masterKey = z
  .union([
    file(),
    z.strictObject({ environment: z.string().min(1) }),
    z.strictObject({ command: z.array(z.string().min(1)).min(1) }),
  ])
  .meta({
    description:
      'The key that encrypts the keys in the database: its file; or `{ "environment": "NAME" }`, a variable that holds the text of that file; or `{ "command": ["PROGRAM", "ARGUMENT"] }`, which prints it.',
  });

/** Checks whether the reading site can fetch from these. */
export function isFetchFrom(places: Readonly<Record<string, string>>): boolean {
  return fetchFrom.safeParse(places).success;
}

const fetchFrom = z
  .record(
    z.string().refine(isSite, 'must be a site, like news.example'),
    z.string().refine((text) => isOrigin(text, { allowHttp: true }), 'must be an origin, like http://127.0.0.1:8080'),
  )
  .meta({
    description:
      'Where the reading site fetches a site\'s content, in place of all its content hosts: `{ "news.example": "http://127.0.0.1:8080" }`.',
  });

const publication = z
  .strictObject({
    resignMinutes: z.int().min(1).max(1440).default(60).meta({ description: 'Minutes between two timestamps.' }),
    freshHours: z.int().min(1).max(720).default(48).meta({ description: 'Hours for which a timestamp is valid.' }),
    push: z
      .array(file())
      .max(8)
      .default([])
      .meta({ description: 'Where timestamps are put: directories and `s3://BUCKET/PREFIX`.' }),
  })
  .refine(({ resignMinutes, freshHours }) => resignMinutes < freshHours * 60, {
    path: ['resignMinutes'],
    message: 'must be less than the time for which a timestamp is fresh',
  })
  .meta({ description: 'How the publication is kept fresh (docs/keyserver.md).' });

const admin = z
  .strictObject({
    origin: httpsOrigin.optional().meta({
      description:
        'Their https origin, on a host of its own. Without it, they are on loopback, under a name that the key server says.',
    }),
    listen,
    tls: tls.optional(),
  })
  .meta({ description: "The operators' pages (docs/admin.md); off if left out." });

const metrics = z
  .strictObject({
    listen: listen
      .refine(({ host }) => host === '::1' || isLoopback(host), {
        path: ['host'],
        message: 'must be loopback, like 127.0.0.1',
      })
      .meta({ description: 'Where Prometheus reads metrics, on loopback.' }),
  })
  .meta({ description: 'Metrics for Prometheus; off if left out.' });

const documents = z
  .strictObject({
    origin: httpsOrigin.optional().meta({
      description: 'The https origin that shows published documents, on a host of its own. It has no accounts.',
    }),
    listen,
    tls: tls.optional(),
    inBrowser: z.boolean().optional().meta({
      description:
        'Browsers fetch, check and decrypt documents by themselves. On unless `false`, where all content hosts are `https:`; otherwise the reading site does it for them.',
    }),
    firstPage: z.enum(['server', 'browser']).optional().meta({
      description:
        'The first page of a browser that reads by itself is opened by the `server` (the default), at once, while the in-browser reader is installed, or by the `browser`, when that is done.',
    }),
  })
  .meta({ description: 'Where documents are shown.' });

/** Opener of a browser's first page, where documents are read in the browser. */
export type FirstPage = NonNullable<z.output<typeof documents>['firstPage']>;

const httpcrypt = z.strictObject({
  url: z
    .string()
    .refine(isHttpcryptUrl, 'must be an http address that ends in a slash, like http://keys.news.example/a/')
    .meta({ format: 'uri', description: 'The address that readers use, as the descriptor names it.' }),
  listen,
  rotateMinutes: z.int().min(10).max(1440).default(60).meta({
    description: 'Minutes for which one of its keys is announced, and the time to live of the DNS records.',
  }),
  zone: file(
    'A file for the DNS records that announce the key, for a zone to include. It is written again with each key.',
  ).optional(),
});

const dispatcher = z
  .strictObject({
    listen: listen.optional().meta({
      description: 'Where this key server, as the dispatcher, listens for the others: a network of their own.',
    }),
    connect: z
      .string()
      .refine(isHostAndPort, 'must be a host and a port, like 10.0.0.5:7443')
      .optional()
      .meta({ description: "Instead of `listen`: the dispatcher's host and port, `10.0.0.5:7443`." }),
  })
  .refine(({ listen, connect }) => (listen === undefined) !== (connect === undefined), {
    message: 'needs "listen" or "connect", not both',
  })
  .meta({
    description: 'Key servers of one database share the hashing of passwords (docs/cluster.md); off if left out.',
  });

/** Processes at most: each takes some 200 MiB of memory, and four connections to a PostgreSQL. */
export const MOST_PROCESSES = 64;

export const configuration = z
  .strictObject({
    origin: httpsOrigin.optional().meta({
      description: 'The https origin that devices use. After a change every device has to connect again.',
    }),
    listen,
    tls: tls.optional(),
    trustedProxies: z.array(network).default([]).meta({
      description:
        'Addresses and networks of proxies in front, which pass `Host` on: their `proxyHeader` is believed, and only they may use a listener without `tls`.',
    }),
    proxyHeader: z.enum(['x-forwarded-for', 'forwarded']).default('x-forwarded-for').meta({
      description: 'The header in which proxies name the client; the other one is never read.',
    }),
    reading: z
      .strictObject({
        origin: httpsOrigin.optional().meta({
          description:
            'The https origin of the reading site, on a host of its own: where links lead, and where people sign in.',
        }),
        listen,
        tls: tls.optional(),
        documents,
      })
      .meta({ description: 'The reading site.' }),
    data: file('The database, an SQLite file.').optional(),
    database: database.optional(),
    masterKey,
    publicKey: file('Where the public key is written that publishers seal bundles to.'),
    fetchFrom: fetchFrom.optional(),
    publication: publication.optional(),
    httpcrypt: httpcrypt.optional().meta({
      description: 'An endpoint for encrypted key requests over plain HTTP (docs/spec/httpcrypt.md); off if left out.',
    }),
    dispatcher: dispatcher.optional(),
    processes: z.int().min(1).max(MOST_PROCESSES).optional().meta({
      description:
        'Processes that answer requests, on a machine with several cores (docs/cluster.md); one if left out.',
    }),
    metrics: metrics.optional(),
    limits: limits.optional(),
    entitlement: entitlementConfig.optional(),
    admin: admin.optional(),
    stripe: stripeConfig.optional(),
    openid: openidConfig.optional(),
    mail: mailConfig.optional(),
  })
  .superRefine(({ origin, reading, admin: operators }, context) => {
    const own = hostOf(reading.documents.origin);
    const others = [origin, reading.origin, operators?.origin].map(hostOf);
    if (own === undefined || isLoopback(own) || !others.includes(own)) return;
    const message = 'must be on another host than key server, sign-in and operators: its pages run published scripts';
    context.addIssue({ code: 'custom', path: ['reading', 'documents', 'origin'], message });
  })
  .refine(({ data, database }) => (data === undefined) !== (database === undefined), {
    path: ['data'],
    message: 'is needed, or "database"; not both',
  });

/** Ports do not keep cookies apart, so they do not count. */
function hostOf(origin: string | undefined): string | undefined {
  return origin !== undefined && URL.canParse(origin) ? new URL(origin).hostname : undefined;
}

/** The JSON Schema of `keyserver.json`, from which docs/configuration.md is generated. */
export function keyServerJsonSchema(): object {
  return z.toJSONSchema(configuration, { io: 'input' });
}

/** An address to listen on. Port 0 takes a free one. */
export type ListenAddress = z.infer<typeof listen>;

/** Certificate chain and private key, both PEM files. */
export type TlsFiles = z.infer<typeof tls>;

/** Settings by which the key server keeps a publication fresh: docs/keyserver.md. */
export type PublicationConfig = z.infer<typeof publication>;

/** The endpoint of HTTPCrypt. */
export type HttpcryptConfig = z.infer<typeof httpcrypt>;

/** Settings for hashing passwords with others: docs/cluster.md. */
export type DispatcherConfig = z.infer<typeof dispatcher>;

export const DEFAULT_PUBLICATION: PublicationConfig = publication.parse({});

/** @returns what the address of a PostgreSQL database must be and `text` is not; `undefined` if it can be used */
export function postgresUrlFault(text: string): string | undefined {
  return database.safeParse(text).error?.issues[0]?.message;
}

function isPostgresUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { password, searchParams, hash } = new URL(text);
  return password === '' && !searchParams.has('password') && hash === '';
}

/** Accepts a socket, loopback, and TLS that knows the server. As node-postgres reads an address: of two parameters the last, and `PGHOST` where there is no host. */
function isSafeWay(text: string): boolean {
  if (!isPostgresUrl(text)) return true;
  const { hostname, searchParams } = new URL(text);
  const { host, sslmode } = Object.fromEntries(searchParams);
  const place = host || decodeURIComponent(hostname).replace(/^\[(.+)\]$/, '$1') || process.env.PGHOST || '/';
  return place.startsWith('/') || place === '::1' || isLoopback(place) || sslmode === 'verify-full';
}

function isHostAndPort(text: string): boolean {
  return /^(?:[\w.-]+|\[[\da-f:.]+\]):[1-9]\d{0,4}$/i.test(text) && URL.canParse(`tls://${text}`);
}
