/** Facts to start each server: its program, the sign that it runs, its log. */
import type { ServerName } from './parameters.ts';

export interface ServerProgram {
  readonly program: string;
  /** The Debian package. */
  readonly package: string;
  readonly version: readonly [flag: string, pattern: RegExp];
  /** A file of its directory, and what stands there once it has got its port. A connection alone could be to a stranger. */
  readonly ready: readonly [file: string, pattern: RegExp];
  /** The file with its requests; Varnish has none. */
  readonly log: string;
  /** Becomes another user by itself, if started by root; the others are started as one. */
  readonly becomesUser?: true;
}

const nginx: ServerProgram = {
  program: 'nginx',
  package: 'nginx-light',
  version: ['-v', /nginx\/([\d.]+)/],
  ready: ['nginx.pid', /\d/],
  log: 'access.log',
};
const apache: ServerProgram = {
  program: 'apache2',
  package: 'apache2-bin',
  version: ['-v', /Apache\/([\d.]+)/],
  ready: ['apache.pid', /\d/],
  log: 'access.log',
};
const squid: ServerProgram = {
  program: 'squid',
  package: 'squid',
  version: ['-v', /Version ([\d.]+)/],
  ready: ['cache.log', /Accepting (?:reverse-proxy )?HTTP Socket connections at/],
  log: 'access.log',
};

export const SERVERS: Readonly<Record<ServerName, ServerProgram>> = {
  nginx: { ...nginx, becomesUser: true },
  'nginx-cache': nginx,
  apache,
  'apache-cache': apache,
  caddy: {
    program: 'caddy',
    package: 'caddy',
    version: ['version', /v?(\d[\d.]+)/],
    ready: ['output.log', /serving initial configuration/],
    log: 'access.log',
  },
  lighttpd: {
    program: 'lighttpd',
    package: 'lighttpd',
    version: ['-v', /lighttpd\/([\d.]+)/],
    ready: ['lighttpd.pid', /\d/],
    log: 'access.log',
  },
  varnish: {
    program: 'varnishd',
    package: 'varnish',
    version: ['-V', /varnish-([\d.]+)/],
    ready: ['output.log', /said Child starts/],
    log: 'output.log',
    becomesUser: true,
  },
  squid: { ...squid, becomesUser: true },
  'squid-reverse': squid,
  haproxy: {
    program: 'haproxy',
    package: 'haproxy',
    version: ['-v', /version ([\d.]+)/],
    ready: ['output.log', /Loading success/],
    log: 'output.log',
  },
  trafficserver: {
    program: 'traffic_server',
    package: 'trafficserver',
    version: ['--version', /Traffic Server ([\d.]+)/],
    ready: ['diags.log', /Traffic Server is fully initialized/],
    log: 'access.log',
  },
};
