/** Configurations for servers, hosts and CDNs between publisher and readers, from the templates beside this file. */
import { createHash } from 'node:crypto';
import { readProgramFile } from '../node-support/program-files.ts';
import {
  type CompleteParameters,
  type ConfigName,
  type ConfigParameters,
  completeParameters,
  SERVER_NAMES,
  type ServerName,
} from './parameters.ts';
import { authority, VALUES } from './values.ts';

/** File that each configuration consists of; a configuration of several files has their names inside. */
const FILES: Readonly<Record<ConfigName, string>> = {
  nginx: 'nginx.conf',
  apache: 'apache.conf',
  caddy: 'Caddyfile',
  lighttpd: 'lighttpd.conf',
  'nginx-cache': 'nginx-cache.conf',
  'apache-cache': 'apache-cache.conf',
  varnish: 'varnish.vcl',
  'squid-reverse': 'squid-reverse.conf',
  haproxy: 'haproxy.cfg',
  trafficserver: 'trafficserver.conf',
  squid: 'squid.conf',
  cloudflare: 'cloudflare.txt',
  netlify: 'netlify.txt',
  'github-pages': 'github-pages.txt',
  s3: 's3.txt',
  cloudfront: 'cloudfront.txt',
  fastly: 'fastly.vcl',
};
/** Line before each file of a configuration that has several. */
const HEADING = /^==> (\S+) <==\n/m;

/** The file name that the configuration goes by. */
export function configFileName(name: ConfigName): string {
  return FILES[name];
}

/** Text of a configuration; of several files, each below its name. @throws {CacheConfigError} `argument-invalid` */
export function renderConfig<Name extends ConfigName>(name: Name, parameters: ConfigParameters[Name]): string {
  const values: Record<string, unknown> = {
    ...VALUES[name](completeParameters(name, parameters)),
    ...(isServer(name) && {
      command: serverCommand(name, parameters as never)
        .map(quoted)
        .join(' '),
    }),
  };
  const template = readProgramFile(`templates/${FILES[name]}`, import.meta.url).toString();
  return template.replace(/\{\{(\w+)\}\}/g, (_, key: string) => {
    const value = values[key];
    if (value === undefined) throw new Error(`no value for {{${key}}} in ${FILES[name]}`);
    return String(value);
  });
}

/** The files of a configuration, by their names. @throws {CacheConfigError} `argument-invalid` */
export function renderFiles<Name extends ConfigName>(
  name: Name,
  parameters: ConfigParameters[Name],
): Map<string, string> {
  const [introduction = '', ...parts] = renderConfig(name, parameters).split(HEADING);
  if (parts.length === 0) return new Map([[FILES[name], introduction]]);
  const files = new Map<string, string>();
  for (let index = 0; index < parts.length; index += 2) files.set(parts[index] ?? '', parts[index + 1] ?? '');
  return files;
}

function isServer(name: ConfigName): name is ServerName {
  return (SERVER_NAMES as readonly string[]).includes(name);
}

/** Command that runs the server in the foreground, with its state directory. @throws {CacheConfigError} `argument-invalid` */
export function serverCommand<Name extends ServerName>(name: Name, parameters: ConfigParameters[Name]): string[] {
  const complete = completeParameters(name, parameters);
  const { stateDirectory: directory } = complete;
  return COMMANDS[name](`${directory}/${FILES[name]}`, directory, complete);
}

type Command<Name extends ServerName> = (file: string, directory: string, p: CompleteParameters[Name]) => string[];

const nginx = (file: string, directory: string) => [
  'nginx',
  '-p',
  directory,
  '-c',
  file,
  '-e',
  'stderr',
  '-g',
  'daemon off;',
];
const apache = (file: string) => ['apache2', '-D', 'FOREGROUND', '-f', file];
const squid = (file: string, directory: string) => ['squid', '-N', '-n', squidServiceName(directory), '-f', file];

const COMMANDS: { readonly [Name in ServerName]: Command<Name> } = {
  nginx,
  'nginx-cache': nginx,
  apache,
  'apache-cache': apache,
  caddy: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  lighttpd: (file) => ['lighttpd', '-D', '-f', file],
  varnish: (file, directory, p) => {
    const storage = `default,${p.memoryMegabytes}m`;
    return [
      'varnishd',
      '-F',
      '-n',
      `${directory}/varnishd`,
      '-a',
      authority(p.address, p.port),
      '-f',
      file,
      '-s',
      storage,
    ];
  },
  squid,
  'squid-reverse': squid,
  haproxy: (file) => ['haproxy', '-W', '-db', '-f', file],
  trafficserver: (_, directory) => ['traffic_server', `--run-root=${directory}`],
};

/** Name of Squid's shared memory, of letters and digits: two of the same name take it from each other. */
export function squidServiceName(stateDirectory: string): string {
  return `wispr${createHash('sha256').update(stateDirectory).digest('hex').slice(0, 12)}`;
}

/** Quotes for sh. */
function quoted(argument: string): string {
  return /[ ;]/.test(argument) ? `'${argument}'` : argument;
}
