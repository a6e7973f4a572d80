import { existsSync, readFileSync } from 'node:fs';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { CACHE_NAMES, type CacheName, type CacheParameters, hasParameter } from '../../cache-config/parameters.ts';
import { renderCacheConfig } from '../../cache-config/render.ts';
import { parseConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { hasKeyServer } from '../../publisher/workspace/configuration/schema.ts';
import { CONFIGURATION_FILE } from '../../publisher/workspace/workspace.ts';
import { collect } from '../io/arguments.ts';
import { UsageError } from '../io/voice.ts';

/** What the command line gives; `undefined` stands for the configuration's own default. */
export interface CacheConfigOptions {
  readonly listen?: { readonly host: string; readonly port: number };
  readonly readingOrigin?: string;
  readonly [option: string]: unknown;
}

/** What parameters are called whose options have shorter names. */
const PARAMETERS: Readonly<Record<string, string>> = {
  maxAge: 'maxAgeSeconds',
  client: 'clients',
  memory: 'memoryMegabytes',
  disk: 'diskMegabytes',
  largest: 'largestObjectMegabytes',
};

/**
 * The text that `wispr cache-config NAME` prints.
 *
 * @throws {UsageError} an option that means nothing to this server
 * @throws {CacheConfigError} `argument-invalid`
 */
export function cacheConfigText(name: CacheName, { listen, ...options }: CacheConfigOptions): string {
  const parameters: Record<string, unknown> = listen ? { address: listen.host, port: listen.port } : {};
  for (const [option, value] of Object.entries(options)) {
    const parameter = PARAMETERS[option] ?? option;
    if (!hasParameter(name, parameter)) throw new UsageError(`${flagOf(option)} means nothing to ${name}`);
    parameters[parameter] = value;
  }
  if (name === 'nginx' && options.readingOrigin === undefined) {
    throw new UsageError(
      'the configuration for nginx needs --reading-origin',
      'add the origin of the reading site, like --reading-origin https://read.news.example, or run this where wispr.json is',
    );
  }
  return renderCacheConfig(name, parameters as CacheParameters[typeof name]);
}

function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Adds `wispr cache-config NAME`. Output and errors go where the program's go. */
export function addCacheConfigCommand(program: Command): void {
  const command = program
    .command('cache-config')
    .summary('print a configuration for a cache')
    .description('print a commented configuration: nginx as content host, varnish in front of it, squid for readers')
    .addArgument(new Argument('<server>', 'which server').choices(CACHE_NAMES))
    .option('--listen <host:port>', 'IP address and port to listen on', endpoint)
    .option('--state-directory <dir>', 'where the server keeps its files')
    .option('--root <dir>', 'nginx: the protected site')
    .option('--reading-origin <url>', 'nginx: the reading site (default: that of wispr.json)')
    .option('--host <name>', 'nginx: host name of the site (default: that of wispr.json)')
    .option('--certificate <file>', 'nginx: certificate chain (PEM), to serve HTTPS as well')
    .option('--certificate-key <file>', 'nginx: its private key (PEM)')
    .option('--https-port <port>', 'nginx: port for HTTPS (default: 443)', wholeNumber)
    .option('--max-age <seconds>', 'nginx: how long caches may keep an answer', wholeNumber)
    .option('--backend <host:port>', 'varnish: the content host', endpoint)
    .option('--client <network>', 'squid: who may use it (repeatable)', collect)
    .option('--memory <mb>', 'varnish, squid: memory for the cache', wholeNumber)
    .option('--disk <mb>', 'squid: disk for the cache, 0 for none', wholeNumber)
    .option('--largest <mb>', 'varnish, squid: the largest object that is kept', wholeNumber);
  command.action((name: CacheName, options: CacheConfigOptions) => {
    command.configureOutput().writeOut?.(cacheConfigText(name, name === 'nginx' ? withSite(options) : options));
  });
}

/** What the publisher's configuration says, where there is one. */
function withSite(options: CacheConfigOptions): CacheConfigOptions {
  if (!existsSync(CONFIGURATION_FILE)) return options;
  const configuration = parseConfiguration(readFileSync(CONFIGURATION_FILE, 'utf8'), CONFIGURATION_FILE);
  if (options.readingOrigin === undefined && !hasKeyServer(configuration))
    throw new UsageError('a site without a key server needs no configuration: any web host for plain files serves it');
  const { reading, site } = configuration;
  return { readingOrigin: reading, host: site, ...options };
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('not a whole number');
  return Number(text);
}

function endpoint(text: string): { host: string; port: number } {
  const parts = /^(?:\[([0-9a-f:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2];
  if (host === undefined) throw new InvalidArgumentError('not of the form host:port');
  return { host, port: Number(parts?.[3]) };
}
