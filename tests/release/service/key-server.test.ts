import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/keyserver-rig.ts';
import { runWispr } from '../../support/wispr.ts';

/** What `systemd-analyze security` gives a unit: 0 is best, and 10 worst. A service with network and a compiler (V8) does not reach 0. */
const WORST_EXPOSURE = 1.6;

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => rmSync(folder, { recursive: true }));

function configure(port: number, data = '/var/lib/wispr/keyserver.db', more: object = {}): void {
  const listen = { host: '0.0.0.0', port };
  const paths = { data, masterKey: '/var/lib/wispr/master.key', publicKey: '/var/lib/wispr/keyserver.pub' };
  const publication = { push: ['/srv/news', 's3://bucket/x'] };
  writeFileSync(
    join(folder, 'keyserver.json'),
    JSON.stringify({ listen, reading: { listen, documents: { listen } }, ...paths, publication, ...more }),
  );
}

const install = (...args: string[]) =>
  runWispr(['keyserver', 'install', '--user', 'daemon', '--folder', folder, ...args], { cwd: folder });
const unit = () => readFileSync(join(folder, 'wispr-keyserver.service'), 'utf8');
const analyze = (...args: string[]) => execFileSync('systemd-analyze', args, { encoding: 'utf8', stdio: 'pipe' });

it('writes a unit that systemd takes without a warning, and that is exposed to little', async () => {
  configure(8443);
  expect(await install()).toMatchObject({ code: 0 });
  expect(unit()).toContain('ReadWritePaths="/var/lib/wispr" "/srv/news"\n');
  expect(unit()).toMatch(/\nCapabilityBoundingSet=\n/);
  const file = join(folder, 'wispr-keyserver.service');
  expect(analyze('verify', '--man=no', file)).toBe('');
  const [overall] = JSON.parse(analyze('security', '--offline=true', '--json=short', file).replace(/\n.*$/s, '')).slice(
    -1,
  );
  expect(overall).toBeDefined();
  const [, exposure] =
    /Overall exposure level for .*: ([\d.]+)/.exec(analyze('security', '--offline=true', '--no-pager', file)) ?? [];
  expect(Number(exposure)).toBeLessThanOrEqual(WORST_EXPOSURE);
});

it('lets it bind ports below 1024, where it has to, and read a program below /home', async () => {
  configure(443, '/home/wispr/keyserver.db');
  await install();
  expect(unit()).toMatch(/\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n/);
  expect(unit()).toMatch(/\nProtectHome=read-only\n/);
  configure(8443, undefined, { admin: { listen: { host: '127.0.0.1', port: 444 } } });
  await install();
  expect(unit()).toMatch(/\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n/);
});

it('refuses a user that there is not, a unit by another, and a path that no unit can hold', async () => {
  configure(8443);
  const refusals = [
    () => install('--user', 'no-such-user'),
    () => {
      configure(8443, '/var/lib/new\nline/keyserver.db');
      return install();
    },
    () => {
      configure(8443);
      writeFileSync(join(folder, 'wispr-keyserver.service'), '[Unit]\n');
      return install();
    },
    () => {
      mkdirSync(join(folder, 'locked'));
      return install('--folder', join(folder, 'none', 'there'));
    },
  ];
  for (const refusal of refusals) {
    const { code, stderr } = await refusal();
    expect([code, stderr]).toEqual([1, expect.stringContaining('[argument-invalid]')]);
  }
  expect(unit()).toBe('[Unit]\n');
});
