/** The key server's configuration: a JSONC file, read strictly. Paths in it are relative to the folder of the file. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { isLoopback } from '../../core/site/site.ts';
import { configurationText, parseConfigurationText } from '../../node-support/configuration.ts';
import { describeUnreadable, systemCode } from '../../node-support/system-error.ts';
import { KeyServerError, misconfigured } from '../errors.ts';
import type { RequestLimits } from './limits.ts';
import { withPaths } from './paths.ts';
import { configuration, keyServerJsonSchema, type ListenAddress, type TlsFiles } from './schema.ts';

/** Path of the configuration if the command line does not say. */
export const DEFAULT_CONFIG_FILE = 'keyserver.json';

/** Variables of the environment take the place of members: `listen.port` is `WISPR_KEYSERVER_LISTEN__PORT`. */
const ENVIRONMENT_PREFIX = 'WISPR_KEYSERVER_';

/** An origin of the key server: the API, the reading site, and its documents. */
export interface ListenerConfig {
  /** The origin that readers use. With `dev` it may be left out: it is then `http://` and the address listened on. */
  readonly origin?: string | undefined;
  readonly listen: ListenAddress;
  readonly tls?: TlsFiles | undefined;
}

/** A configuration whose paths are absolute, or relative to the working directory. */
export interface KeyServerConfig
  extends Omit<z.infer<typeof configuration>, 'admin' | 'limits' | 'metrics' | 'proxyHeader' | 'trustedProxies'> {
  readonly trustedProxies?: readonly string[];
  readonly proxyHeader?: z.infer<typeof configuration>['proxyHeader'];
  /** HTTP without TLS on loopback, for trying things out. Not part of the file: `wispr keyserver --dev`. */
  readonly dev?: boolean;
  readonly admin?: ListenerConfig | undefined;
  readonly limits?: Partial<RequestLimits> | undefined;
  readonly metrics?: { readonly listen: ListenAddress } | undefined;
}

/** Reads a configuration file, and the environment. @throws KeyServerError `configuration-missing`, `configuration-invalid` */
export function readConfig(file: string): KeyServerConfig {
  const config = parseConfigurationText(readText(file), file, configuration, misconfigured, {
    prefix: ENVIRONMENT_PREFIX,
    variables: process.env,
  });
  return withPaths(config, keyServerJsonSchema(), (path) => resolve(dirname(file), path)) as typeof config;
}

/** Makes what `--dev` makes of a configuration: loopback without certificates, whatever stands in the file for the public. */
export function forDevelopment(config: KeyServerConfig): KeyServerConfig {
  const { inBrowser, firstPage } = config.reading.documents;
  const kept = { ...(inBrowser !== undefined && { inBrowser }), ...(firstPage && { firstPage }) };
  const documents = { ...devListener(config.reading.documents), ...kept };
  const reading = { ...devListener(config.reading), documents };
  const { httpcrypt } = config;
  const encrypted = httpcrypt && { httpcrypt: { ...httpcrypt, listen: devListen(httpcrypt.listen) } };
  const operators = config.admin && { admin: devListener(config.admin) };
  const alone = { dispatcher: undefined, trustedProxies: [] };
  return { ...config, ...devListener(config), ...encrypted, ...operators, ...alone, dev: true, reading };
}

function devListener({ origin, listen }: ListenerConfig): ListenerConfig {
  const keep = origin?.startsWith('http:') && isLoopback(new URL(origin).hostname);
  return { listen: devListen(listen), tls: undefined, origin: keep ? origin : undefined };
}

function devListen({ host, port }: ListenAddress): ListenAddress {
  return { host: host === '::1' || isLoopback(host) ? host : '127.0.0.1', port };
}

function readText(file: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    const code = systemCode(cause) === 'ENOENT' ? 'configuration-missing' : 'configuration-invalid';
    throw new KeyServerError(code, describeUnreadable(file, cause), { cause, typed: true });
  }
  return configurationText(bytes, file, misconfigured);
}
