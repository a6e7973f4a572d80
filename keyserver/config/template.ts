/** The first run: writes a configuration, with comments for the operator who opens the file next. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFile } from '../../node-support/files/write-file.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { KeyServerError, misconfigured } from '../errors.ts';

export interface NewConfig {
  readonly dev: boolean;
  /** Address that `postgresUrlFault` has accepted; `undefined`: an SQLite file. */
  readonly database?: string | undefined;
  /** Origins by site, which `isFetchFrom` has accepted. */
  readonly fetchFrom?: Readonly<Record<string, string>>;
}

/**
 * Writes a commented configuration, unless there is a file already. Beside a key server, a second configuration is a misspelt name.
 *
 * @returns whether it was written
 * @throws KeyServerError `configuration-missing`, `configuration-invalid`
 */
export function writeConfig(file: string, options: NewConfig): boolean {
  if (existsSync(file)) return false;
  const present = ['keyserver.json', 'keyserver.db'].map((name) => join(dirname(file), name)).find(existsSync);
  if (present !== undefined)
    throw new KeyServerError('configuration-missing', `there is no ${file}, and none was written beside ${present}`, {
      typed: true,
    });
  try {
    return createFile(file, configTemplate(options), 0o644);
  } catch (cause) {
    throw misconfigured(`the configuration cannot be written at ${file}: ${systemReason(cause)}`, cause);
  }
}

/** The configuration of a new key server. */
export function configTemplate({ dev, database, fetchFrom = {} }: NewConfig): string {
  const place = database === undefined ? '"data": "keyserver.db"' : `"database": ${JSON.stringify(database)}`;
  const places = Object.entries(fetchFrom).map(
    ([site, origin]) => `${JSON.stringify(site)}: ${JSON.stringify(origin)},`,
  );
  const example = '// "news.example": "http://127.0.0.1:8080"';
  return (dev ? DEVELOPMENT : PRODUCTION) + commonWith(place, places.length > 0 ? places : [example]);
}

const PRODUCTION = `// The key server of wispr. Paths are relative to this file. docs/configuration.md describes every member.
{
  // The origin that readers' devices use. The publisher signs it into the provider descriptor.
  "origin": "https://keys.news.example",
  "listen": { "host": "0.0.0.0", "port": 8443 },
  // Certificate chain and private key (PEM). They are read again when they change.
  "tls": { "certificate": "keys.crt", "key": "keys.key" },

  // The reading site, for browsers without the Reader: links lead to it, and people sign in there. It needs a host name of its own,
  // and so do the documents that it shows: their scripts must not reach accounts.
  "reading": {
    "origin": "https://read.news.example",
    "listen": { "host": "0.0.0.0", "port": 8444 },
    "tls": { "certificate": "read.crt", "key": "read.key" },
    "documents": {
      "origin": "https://pages.news.example",
      "listen": { "host": "0.0.0.0", "port": 8445 },
      "tls": { "certificate": "pages.crt", "key": "pages.key" },
    },
  },

  // Instead of "tls": proxies in front that end TLS, pass Host on and set X-Forwarded-For. Only they may connect then.
  // "trustedProxies": ["127.0.0.1", "10.0.0.0/24"],

`;

const DEVELOPMENT = `// A key server for trying things out, made by "wispr keyserver --dev": plain HTTP, on this machine only.
{
  "listen": { "host": "127.0.0.1", "port": 8002 },
  "reading": {
    "listen": { "host": "127.0.0.1", "port": 8003 },
    "documents": { "listen": { "host": "127.0.0.1", "port": 8004 } },
  },

`;

const commonWith = (
  place: string,
  sources: readonly string[],
) => `  // The database, and the key under which the keys in it are encrypted. Keep a copy of the key somewhere else.
  ${place},
  "masterKey": "master.key",
  // The publisher seals key bundles to this public key.
  "publicKey": "keyserver.pub",

  // How the publication is kept fresh: how often its timestamp is signed, for how many hours one is good, and where it is put
  // besides here: the directory that the web host serves, or s3://bucket/prefix.
  // "publication": { "resignMinutes": 60, "freshHours": 48, "push": ["/var/www/news.example"] },

  // For readers in networks that block HTTPS: key requests encrypted inside plain HTTP. docs/keyserver.md, "HTTPCrypt".
  // "httpcrypt": { "url": "http://keys.news.example/a/", "listen": { "host": "0.0.0.0", "port": 80 } },

  // For Prometheus; on loopback only.
  // "metrics": { "listen": { "host": "127.0.0.1", "port": 9464 } },

  // Where the reading site connects to for a site's content, if not to the content hosts that the publisher names.
  "fetchFrom": {
    ${sources.join('\n    ')}
  },
}
`;
