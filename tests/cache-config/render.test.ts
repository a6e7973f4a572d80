import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { CacheConfigError } from '../../cache-config/errors.ts';
import { findUser } from '../../cache-config/find-server.ts';
import {
  CONFIG_NAMES,
  type ConfigName,
  HOST_NAMES,
  hasParameter,
  needsParameter,
  REVERSE_NAMES,
  SERVER_NAMES,
  type ServerName,
} from '../../cache-config/parameters.ts';
import { SERVERS } from '../../cache-config/programs.ts';
import { configFileName, renderConfig, renderFiles, serverCommand } from '../../cache-config/render.ts';
import { findServer } from '../../cache-config/servers.ts';
import { addCacheConfigCommand, cacheConfigText } from '../../cli/commands/cache-config.ts';
import { CodedError } from '../../core/errors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { createWorkspace, SITE } from '../support/workspace.ts';
import { READING_ORIGIN } from './site.ts';

/** Values that an operator must give. */
const ORIGIN = { host: 'origin.example', port: 80 };
const NEEDED = { readingOrigin: READING_ORIGIN, host: 'news.example', bucket: 'news-site', backend: ORIGIN };
const needed = (name: ConfigName) =>
  Object.fromEntries(Object.entries(NEEDED).filter(([parameter]) => needsParameter(name, parameter))) as never;
const OPERATOR = { nginx: { readingOrigin: READING_ORIGIN } };

const nginx = (file: string) => ['-t', '-e', 'stderr', '-c', file];
const apache = (file: string) => ['-t', '-f', file];
const squid = (file: string) => ['-k', 'parse', '-f', file];
/** Arguments with which each server only checks a configuration. */
const CHECKS: Readonly<Record<ServerName, (file: string, directory: string) => string[]>> = {
  nginx,
  'nginx-cache': nginx,
  apache,
  'apache-cache': apache,
  caddy: (file) => ['validate', '--adapter', 'caddyfile', '--config', file],
  lighttpd: (file) => ['-tt', '-f', file],
  varnish: (file) => ['-C', '-n', `${file}.state`, '-f', file],
  squid,
  'squid-reverse': squid,
  haproxy: (file) => ['-c', '-f', file],
  trafficserver: (_, folder) => [`--run-root=${folder}`, '-C', 'verify_config', '-D', folder],
};

const directory = temporaryFolder();
chmodSync(directory, 0o755);
const proxy = findUser(['proxy', 'squid', 'nobody']);
if (process.getuid?.() === 0 && proxy) chownSync(directory, proxy.uid, proxy.gid);

/** Returns the output of the server's own checker. @throws Error if it refuses */
function check(name: ServerName, files: ReadonlyMap<string, string>): string {
  for (const [file, text] of files) writeFileSync(join(directory, file), text);
  const { program } = SERVERS[name];
  const path = findServer(program);
  expect(path, `${program} is installed`).toBeDefined();
  const args = CHECKS[name](join(directory, configFileName(name)), directory);
  return execFileSync('/bin/sh', ['-c', '"$0" "$@" 2>&1', String(path), ...args], { encoding: 'utf8' });
}

/** Warnings that there is no Via, no user to become, no home, and no HTTPS. */
const EXPECTED =
  /requires the use of Via|makes sense only if the master process runs|XDG_CONFIG_HOME|automatic HTTPS is completely/;

/** Returns what the server said against the configuration; Squid reminds of Via whenever it is off. */
function complaints(said: string): string[] {
  const complaint = /(?:WARNING|ERROR|FATAL):|\[(?:emerg|warn|WARNING|ALERT)\]|AH\d+|"level":"(?:warn|error)"/;
  const lines = said.split('\n').filter((line) => complaint.test(line));
  return lines.filter((line) => !EXPECTED.test(line));
}

describe.each(SERVER_NAMES)('the configuration for %s', (name) => {
  // Apache wants to see the site.
  const root = hasParameter(name, 'root') ? { root: directory } : {};
  const parameters = { ...(needed(name) as object), ...root, stateDirectory: directory } as never;

  test('is accepted by the server with the defaults for operators', () => {
    expect(complaints(check(name, renderFiles(name, parameters)))).toEqual([]);
  });

  test('shows the command that the rig runs', () => {
    const [program = '', ...args] = serverCommand(name, needed(name));
    const [, shown = ''] = /^# {3}(\S+ .*)$/m.exec(renderConfig(name, needed(name))) ?? [];
    const words = execFileSync('/bin/sh', ['-c', `printf '%s\\n' ${shown}`], { encoding: 'utf8' })
      .trimEnd()
      .split('\n');
    expect(words).toEqual([program, ...args]);
  });
});

test.each(CONFIG_NAMES)('%s leaves no placeholder open, and begins with what it does', (name) => {
  const text = renderConfig(name, needed(name));
  expect(text).not.toMatch(/\{\{\w|undefined|\[object/);
  const [, introduction = ''] = /^((?:#.*\n)+)/.exec(text) ?? [];
  expect(introduction).toMatch(/wispr/);
  expect(introduction).toMatch(/readers (?:check|notice)|every reader|checked by every/i);
});

test('every content host serves trees whose path has spaces and other scripts', () => {
  const root = join(directory, 'zeitung & söhne (neu), 100%');
  mkdirSync(root);
  for (const name of HOST_NAMES) {
    const files = renderFiles(name, { ...OPERATOR.nginx, root, stateDirectory: directory });
    check(name, files);
    expect([...files.values()].join()).toContain(`"${root}"`);
  }
});

test('Squid accepts sites, several networks, ranges of ports, memory only', () => {
  const sites = [
    { site: 'news.example', host: '127.0.0.1', port: 6081 },
    { site: 'other.example', host: 'cache.internal', port: 80 },
  ];
  const clients = ['10.0.0.0/8', '::1', 'fd00::/8'];
  const ports = { webPorts: ['80', '8000-8999'], tunnelPorts: ['443', '8443'] };
  const text = renderConfig('squid', { sites, clients, ...ports, diskMegabytes: 0, stateDirectory: directory });
  expect(complaints(check('squid', new Map([['squid.conf', text]])))).toEqual([]);
  expect(text).not.toContain('cache_dir');
  expect(text).toContain('acl site1 dstdomain other.example');
});

test('every server listens on IPv6 too, and fetches from there', () => {
  const text = renderConfig('nginx', { ...OPERATOR.nginx, address: '::1', stateDirectory: directory });
  expect(text).toContain('listen [::1]:8080 default_server;');
  expect(serverCommand('varnish', { address: '::', port: 80 })).toContain('[::]:80');
  for (const name of REVERSE_NAMES) {
    const backend = { host: '::1', port: 8080 };
    check(name, renderFiles(name, { backend, address: '::1', stateDirectory: directory }));
  }
  for (const name of HOST_NAMES)
    check(name, renderFiles(name, { ...OPERATOR.nginx, root: directory, address: '::1', stateDirectory: directory }));
});

/** Values that would say something else to the server than what they are. */
const INJECTIONS: [ConfigName, string, unknown][] = [
  ['nginx', 'root', '/srv"; include /etc/passwd; #'],
  ['nginx', 'root', '/srv\n}'],
  ['nginx', 'root', '/srv/{{user}}'],
  ['nginx', 'root', '/srv/../etc'],
  ['nginx', 'readingOrigin', 'https://read.example/path'],
  ['nginx', 'readingOrigin', 'https://user@read.example'],
  ['nginx', 'readingOrigin', 'https://read.example\nx'],
  ['nginx', 'address', '127.0.0.1; }'],
  ['nginx', 'port', '80; }'],
  ['nginx', 'port', 0],
  ['nginx', 'user', 'www-data; daemon off'],
  ['nginx', 'host', 'news.example; return 200'],
  ['nginx', 'certificate', '/etc/ssl/a b.pem'],
  ['nginx', 'certificate', '/etc/ssl/without-its-key.pem'],
  ['nginx', 'httpsPort', '443; }'],
  ['nginx', 'maxAgeSeconds', -1],
  ['nginx', 'stateDirectory', '/var/lib/;x'],
  ['nginx', 'unknown', 'x'],
  ['varnish', 'backend', { host: '127.0.0.1"; }', port: 80 }],
  ['varnish', 'backend', { host: 'a b', port: 80 }],
  ['varnish', 'backend', { host: 'a.example', port: '80"; }' }],
  ['varnish', 'graceSeconds', '30s; import std'],
  ['varnish', 'largestObjectMegabytes', 0],
  ['varnish', 'memoryMegabytes', Number.POSITIVE_INFINITY],
  ['squid', 'clients', ['all']],
  ['squid', 'clients', ['10.0.0.0/8\nhttp_access allow all']],
  ['squid', 'clients', ['10.0.0.0/33']],
  ['squid', 'webPorts', ['80 443']],
  ['squid', 'tunnelPorts', ['0-65536']],
  ['squid', 'sites', [{ site: 'news.example\nhttp_access allow all', host: '127.0.0.1', port: 80 }]],
  ['squid', 'visibleHostname', 'a b'],
  ['squid', 'user', 'root\n'],
  ['squid', 'stateDirectory', '/var/lib/$(id)'],
  ['haproxy', 'memoryMegabytes', 4096],
  ['haproxy', 'largestObjectMegabytes', 200],
  ['caddy', 'root', '/srv/{env.HOME}'],
  ['lighttpd', 'root', '/srv/" + env.HOME'],
  ['apache', 'root', '/srv/$' + '{HOME}'],
  ['trafficserver', 'backend', { host: 'a\nmap / http://b', port: 80 }],
  ['cloudflare', 'host', 'a.example") or true'],
  ['github-pages', 'readingOrigin', "https://read.example'+alert(1)+'"],
  ['s3', 'bucket', 'a/*'],
];

test.each(INJECTIONS)('%s refuses %s: %j', (name, parameter, value) => {
  const given = { ...(needed(name) as object), [parameter]: value } as never;
  for (const attempt of [() => renderConfig(name, given), () => renderFiles(name, given)]) {
    expect(attempt).toThrow(CacheConfigError);
    expect(attempt).toThrow(expect.objectContaining({ code: 'argument-invalid' }));
  }
});

test('attack 24: browsers are sent to HTTPS only, or to this machine', () => {
  const refused = ['http://read.example', 'javascript:alert(1)', 'data:text/html,x', '//read.example', ''];
  for (const readingOrigin of refused) {
    expect(() => renderConfig('nginx', { readingOrigin })).toThrow(CacheConfigError);
  }
  for (const readingOrigin of ['https://read.example', 'https://read.example:8443', 'http://127.0.0.1:8002']) {
    const text = renderConfig('nginx', { readingOrigin });
    expect(text).toContain(`return 302 ${readingOrigin}$request_uri;`);
  }
});

describe('wispr cache-config', () => {
  function run(...args: string[]): { out: string; error?: CommanderError | CodedError } {
    let out = '';
    const program = new Command('wispr').exitOverride();
    program.configureOutput({ writeOut: (text) => (out += text), writeErr: () => {} });
    addCacheConfigCommand(program);
    try {
      program.parse(['cache-config', ...args], { from: 'user' });
      return { out };
    } catch (error) {
      if (!(error instanceof CommanderError || error instanceof CodedError)) throw error;
      return { out, error };
    }
  }

  test('prints what the rig uses', () => {
    expect(run('nginx', '--reading-origin', READING_ORIGIN).out).toBe(renderConfig('nginx', OPERATOR.nginx));
    expect(run('varnish').out).toBe(renderConfig('varnish', {}));
    expect(run('squid').out).toBe(renderConfig('squid', {}));
  });

  test('takes every option where it belongs', () => {
    const nginx = ['--root', '/srv/a', '--reading-origin', READING_ORIGIN, '--listen', '0.0.0.0:80', '--max-age', '60'];
    const expected = { root: '/srv/a', readingOrigin: READING_ORIGIN, address: '0.0.0.0', port: 80, maxAgeSeconds: 60 };
    expect(run('nginx', ...nginx).out).toBe(renderConfig('nginx', expected));
    const varnish = '--backend origin.example:80 --memory 1024 --largest 128 --state-directory /var/x';
    expect(run('varnish', ...varnish.split(' ')).out).toBe(
      renderConfig('varnish', {
        backend: { host: 'origin.example', port: 80 },
        memoryMegabytes: 1024,
        largestObjectMegabytes: 128,
        stateDirectory: '/var/x',
      }),
    );
    const squid = ['--listen', '[::1]:3128', '--client', '10.0.0.0/8', '--client', '::1', '--disk', '0'];
    const squidParameters = { address: '::1', port: 3128, clients: ['10.0.0.0/8', '::1'], diskMegabytes: 0 };
    expect(run('squid', ...squid).out).toBe(renderConfig('squid', squidParameters));
  });

  test.each([
    [['iis']],
    [['nginx']],
    [['s3', '--reading-origin', READING_ORIGIN]],
    [['cloudfront']],
    [['netlify', '--listen', '0.0.0.0:80']],
    [['squid', '--root', '/srv']],
    [['varnish', '--backend', 'nothing']],
    [['varnish', '--memory', '1e9']],
    [['nginx', '--reading-origin', 'read.example']],
  ])('refuses %j and prints nothing', (args) => {
    const { out, error } = run(...args);
    expect(out).toBe('');
    expect(error instanceof CodedError ? error.typed : error?.code === 'commander.invalidArgument').toBe(true);
  });

  const guide = readFileSync(new URL('../../docs/caches.md', import.meta.url), 'utf8');
  const examples = [...guide.matchAll(/^wispr cache-config ([^|\n]+)/gm)].map(([, args = '']) => args.trim());
  test.each(examples)('does what docs/caches.md shows: %s', (args) => expect(run(...args.split(' ')).out).not.toBe(''));
  test('docs/caches.md shows each of them', () => {
    const shown = new Set([...guide.matchAll(/wispr cache-config ([a-z0-9-]+)/g)].map(([, name]) => name));
    expect([...shown].filter((name) => name !== 'NAME').sort()).toEqual([...CONFIG_NAMES].sort());
  });

  test('takes reading site, host and bucket from wispr.json, and writes several files to a directory', async () => {
    const made = await createWorkspace({}, { publish: 's3://news-site/', reading: READING_ORIGIN });
    const before = process.cwd();
    try {
      process.chdir(made.directory);
      expect(run('s3').out).toBe(renderConfig('s3', { readingOrigin: READING_ORIGIN, bucket: 'news-site' }));
      expect(run('cloudflare').out).toBe(renderConfig('cloudflare', { readingOrigin: READING_ORIGIN, host: SITE }));
      expect(run('github-pages', '--write', 'pages').out).toBe('');
      expect(readdirSync('pages').sort()).toEqual(['.nojekyll', '404.html', 'CNAME']);
      expect(readFileSync('pages/CNAME', 'utf8')).toBe(`${SITE}\n`);
    } finally {
      process.chdir(before);
      await made.remove();
    }
  });

  test('names an option as it is written on the command line', () => {
    expect(() => cacheConfigText('squid', { readingOrigin: READING_ORIGIN })).toThrow('--reading-origin');
  });
});

test('the templates explain themselves: a comment for every five lines at least', () => {
  for (const name of SERVER_NAMES) {
    const template = readFileSync(
      new URL(`../../cache-config/templates/${configFileName(name)}`, import.meta.url),
      'utf8',
    );
    const directives = template.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#'));
    const comments = template.split('\n').filter((line) => line.trim().startsWith('#'));
    expect(comments.length, `${name} explains itself`).toBeGreaterThan(directives.length / 5);
  }
});
