import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import {
  CONFIG_NAMES,
  type ConfigName,
  type ConfigParameters,
  hasParameter,
  needsParameter,
} from '../../cache-config/parameters.ts';
import { renderConfig, renderFiles } from '../../cache-config/render.ts';
import { writeFileAtomicSync } from '../../node-support/files/write-file.ts';
import { makeDirectoryNow } from '../../node-support/make-directory.ts';
import { parseConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { hasReadingSite } from '../../publisher/workspace/configuration/schema.ts';
import { CONFIGURATION_FILE } from '../../publisher/workspace/workspace.ts';
import { collect, parseNumber } from '../io/arguments.ts';
import { say, UsageError } from '../io/voice.ts';

/** Values of the command line; `undefined` stands for the configuration's own default. */
export interface CacheConfigOptions {
  readonly listen?: { readonly host: string; readonly port: number };
  readonly readingOrigin?: string;
  readonly [option: string]: unknown;
}

/** Names of parameters whose options are shorter. */
const PARAMETERS: Readonly<Record<string, string>> = {
  maxAge: 'maxAgeSeconds',
  client: 'clients',
  memory: 'memoryMegabytes',
  disk: 'diskMegabytes',
  largest: 'largestObjectMegabytes',
};

/** Parameters that some configurations require, with examples. */
const NEEDED: Readonly<Record<string, string>> = {
  readingOrigin: '--reading-origin https://read.news.example, or run this where wispr.json is',
  host: '--host news.example, or run this where wispr.json is',
  bucket: '--bucket news-site, or run this where wispr.json is',
  backend: '--backend origin.news.example:80',
};

/**
 * Turns the command line into the parameters of a configuration.
 *
 * @throws {UsageError} an option that means nothing to it, or one that is missing
 */
function parametersOf<Name extends ConfigName>(
  name: Name,
  { listen, ...options }: CacheConfigOptions,
): ConfigParameters[Name] {
  const parameters: Record<string, unknown> = listen ? { address: listen.host, port: listen.port } : {};
  if (listen && !hasParameter(name, 'port')) throw new UsageError(`--listen means nothing to ${name}`);
  for (const [option, value] of Object.entries(options)) {
    const parameter = PARAMETERS[option] ?? option;
    if (!hasParameter(name, parameter)) throw new UsageError(`${flagOf(option)} means nothing to ${name}`);
    parameters[parameter] = value;
  }
  for (const [parameter, example] of Object.entries(NEEDED)) {
    if (parameters[parameter] === undefined && needsParameter(name, parameter))
      throw new UsageError(`the configuration for ${name} needs ${flagOf(parameter)}`, `add ${example}`);
  }
  return parameters as ConfigParameters[Name];
}

/**
 * Returns the text that `wispr cache-config NAME` prints.
 *
 * @throws {UsageError} an option that means nothing to this configuration, or one that is missing
 * @throws {CacheConfigError} `argument-invalid`
 */
export function cacheConfigText(name: ConfigName, options: CacheConfigOptions): string {
  return renderConfig(name, parametersOf(name, options));
}

function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

const wholeNumber = parseNumber(/^\d{1,15}$/, 'not a whole number');

/** Adds `wispr cache-config NAME`. Output and errors go where the program's go. */
export function addCacheConfigCommand(program: Command): void {
  const command = program
    .command('cache-config')
    .summary('print a configuration for a web host, a cache or a CDN')
    .description(
      'print a commented configuration: for a content host (nginx, apache, caddy, lighttpd), a cache in front of it, a forward cache for readers (squid), or the rules of a host or CDN',
    )
    .addArgument(new Argument('<name>', 'which one').choices(CONFIG_NAMES))
    .option('--write <dir>', 'write the files to this directory instead')
    .option('--listen <host:port>', 'IP address and port to listen on', endpoint)
    .option('--state-directory <dir>', 'where the server keeps its files')
    .option('--root <dir>', 'content hosts: the protected site')
    .option('--reading-origin <url>', 'content hosts, rules: the reading site (default: that of wispr.json)')
    .option('--host <name>', 'nginx, rules: host name of the site (default: that of wispr.json)')
    .option('--bucket <name>', 's3: the bucket (default: that of wispr.json)')
    .option('--certificate <file>', 'nginx: certificate chain (PEM), to serve HTTPS as well')
    .option('--certificate-key <file>', 'nginx: its private key (PEM)')
    .option('--https-port <port>', 'nginx: port for HTTPS (default: 443)', wholeNumber)
    .option('--max-age <seconds>', 'content hosts: how long caches may keep an answer', wholeNumber)
    .option('--backend <host:port>', 'caches, cloudfront: the content host, or the next cache', endpoint)
    .option('--client <network>', 'squid: who may use it; repeatable', collect)
    .option('--memory <mb>', 'varnish, squid, haproxy: memory for the cache', wholeNumber)
    .option('--disk <mb>', 'nginx-cache, squid, trafficserver: disk for the cache; squid: 0 for none', wholeNumber)
    .option('--largest <mb>', 'apache-cache, varnish, squid, haproxy: the largest object that is kept', wholeNumber);
  command.action((name: ConfigName, { write, ...options }: CacheConfigOptions & { write?: string }) => {
    const given = withSite(name, options);
    if (write === undefined) command.configureOutput().writeOut?.(cacheConfigText(name, given));
    else writeFiles(write, renderFiles(name, parametersOf(name, given)));
  });
}

/** Writes files that hold nothing secret: the server's own user reads them. */
function writeFiles(directory: string, files: ReadonlyMap<string, string>): void {
  makeDirectoryNow(directory);
  for (const [file, text] of files) {
    writeFileAtomicSync(join(directory, file), text, { mode: 0o644 });
    say(`wrote ${join(directory, file)}`);
  }
}

function withSite(name: ConfigName, options: CacheConfigOptions): CacheConfigOptions {
  if (!existsSync(CONFIGURATION_FILE)) return options;
  const configuration = parseConfiguration(readFileSync(CONFIGURATION_FILE, 'utf8'), CONFIGURATION_FILE);
  const { reading, site, publish } = configuration;
  if (options.readingOrigin === undefined && hasParameter(name, 'readingOrigin') && !hasReadingSite(configuration))
    throw new UsageError(
      'a site without a key server needs no configuration: docs/serverless.md#web-hosts says which hosts serve it',
    );
  const [, bucket] =
    /^s3:\/\/([^/]+)/.exec([publish ?? []].flat().find((target) => target.startsWith('s3://')) ?? '') ?? [];
  const known = Object.entries({ readingOrigin: reading, host: site, bucket });
  const useful = known.filter(([parameter, value]) => value !== undefined && hasParameter(name, parameter));
  return { ...Object.fromEntries(useful), ...options };
}

function endpoint(text: string): { host: string; port: number } {
  const parts = /^(?:\[([0-9a-f:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2];
  if (host === undefined) throw new InvalidArgumentError('not of the form host:port');
  return { host, port: Number(parts?.[3]) };
}
