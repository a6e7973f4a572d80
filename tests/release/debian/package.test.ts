/** The Debian package in a Debian 12 that was booted by systemd: installed, started, upgraded, removed, purged. */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../cache-config/child.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { type BootedDebian, bootDebian, unpackDebian } from '../../support/debian-root.ts';
import { temporaryFolder } from '../../support/keyserver-rig.ts';
import { ROOT, startCommand } from '../../support/programs.ts';

const NAME = `wispr_${packageJson.version}_${process.arch === 'arm64' ? 'arm64' : 'amd64'}.deb`;
const MINUTES = 60_000;
const QUIET = ['--quiet', '--register=no', '--keep-unit', '--console=pipe'];

let folder: string;
let file: string;
beforeAll(() => {
  folder = temporaryFolder();
  build(folder);
  file = join(folder, NAME);
}, 5 * MINUTES);

function build(out: string): void {
  execFileSync(process.execPath, ['scripts/build-deb.ts', out], { cwd: ROOT, stdio: 'pipe' });
}

it(
  'is the same, byte for byte, when it is built again',
  () => {
    build(join(folder, 'again'));
    expect(readFileSync(join(folder, 'again', NAME)).equals(readFileSync(file))).toBe(true);
  },
  5 * MINUTES,
);

it(
  'has no error by lintian',
  async () => {
    const { code, stdout } = await startCommand(['lintian', '--fail-on', 'error', '--allow-root', file]).ended;
    expect([code, stdout.split('\n').filter((line) => line.startsWith('E:'))]).toEqual([0, []]);
  },
  5 * MINUTES,
);

/** Builds another version, for an upgrade. */
function writeNextVersion(to: string): void {
  const work = join(folder, 'next');
  execFileSync('dpkg-deb', ['--raw-extract', file, work]);
  const control = join(work, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, '$&+next'));
  execFileSync('dpkg-deb', ['-Zgzip', '-z1', '--root-owner-group', '--build', work, to], { stdio: 'pipe' });
  rmSync(work, { recursive: true });
}

describe.runIf(process.getuid?.() === 0)('in Debian 12', () => {
  let debian: BootedDebian;
  let port: number;
  beforeAll(async () => {
    const root = unpackDebian();
    cpSync(file, join(root, 'opt/wispr.deb'));
    writeNextVersion(join(root, 'opt/next.deb'));
    debian = await bootDebian(root);
    await does('apt-get update -qq');
  }, 5 * MINUTES);
  afterAll(() => debian?.stop());

  /** @returns what it printed; it has to succeed */
  async function does(script: string): Promise<string> {
    const { code, stdout, stderr } = await debian.run(`set -e; ${script}`);
    expect([script, code, code === 0 ? '' : stdout + stderr]).toEqual([script, 0, '']);
    return stdout;
  }
  /** The status of an answer; 000 for none. */
  const health = async () => {
    const asking = ['curl', '--silent', '--output', '/dev/null', '--write-out', '%{http_code}'];
    const url = `http://127.0.0.1:${port}/healthz`;
    return (await startCommand([...asking, '--header', 'Host: keys.news.example', url]).ended).stdout;
  };
  const isHealthy = () => expect.poll(health).toBe('200');
  const property = async (name: string) => (await does(`systemctl show wispr-keyserver -P ${name}`)).trim();

  it('brings what it needs, makes user and folders, and starts nothing that is not configured', async () => {
    await does('apt-get install -y -qq --no-install-recommends /opt/wispr.deb');
    expect(await does('wispr --version')).toBe(`${packageJson.version}\n`);
    const folders = await does('stat -c "%a %U:%G %n" /etc/wispr /var/lib/wispr /var/backups/wispr');
    expect(folders.split('\n')).toEqual([
      '750 root:wispr /etc/wispr',
      '700 wispr:wispr /var/lib/wispr',
      '700 wispr:wispr /var/backups/wispr',
      '',
    ]);
    expect(await property('ActiveState')).toBe('inactive');
    expect(await does('systemctl is-enabled wispr-keyserver.service wispr-backup.timer')).toBe('enabled\nenabled\n');
    const said = await does('systemd-analyze verify --man=no /lib/systemd/system/wispr-*.service 2>&1');
    expect(said).toBe('');
    expect(await does('systemctl --failed --no-legend')).toBe('');
  });

  it('runs the key server, as its own user, and again when it was killed', async () => {
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    [port = 0] = ports;
    const example = '/usr/share/doc/wispr/examples/keyserver.json';
    const change = ports.map((each, index) => `s/: 844${index + 3} /: ${each} /`).join('; ');
    await does(`sed '${change}' ${example} > /etc/wispr/keyserver.json; systemctl start wispr-keyserver`);
    await isHealthy();
    expect(await does('stat -c "%a %U" /var/lib/wispr/master.key')).toBe('600 wispr\n');
    await does('test ! -e /var/lib/wispr/.cache'); // code that the service could change is absent
    expect(await does('stat -c %U /proc/$(systemctl show wispr-keyserver -P MainPID)')).toBe('wispr\n');
    const killed = await property('MainPID');
    await does(`kill -9 ${killed}`);
    await expect.poll(() => property('NRestarts')).toBe('1');
    await isHealthy();
    await does('cd /var/lib/wispr; setpriv --reuid wispr --regid wispr --clear-groups wispr admin list');
  });

  it('copies the database by the unit of the timer', async () => {
    await does('systemctl start wispr-backup');
    expect(await does('stat -c "%a %U %n" /var/backups/wispr/*')).toMatch(
      /^600 wispr .*\/wispr-\d{4}-\d\d-\d\d\.db\n$/,
    );
  });

  it('runs the Reader for a user who enables it', async () => {
    const asAda =
      'setpriv --reuid ada --regid ada --init-groups env HOME=/home/ada XDG_RUNTIME_DIR=/run/user/$(id -u ada)';
    const readerPort = await freePort();
    await does('useradd --create-home ada; systemctl start user@$(id -u ada)');
    const folder = '/home/ada/.config/systemd/user/wispr-proxy.service.d';
    const unit = `[Service]\\nExecStart=\\nExecStart=/usr/bin/wispr proxy --quiet --port ${readerPort}\\n`;
    await does(`${asAda} sh -c 'mkdir -p ${folder}; printf "${unit}" > ${folder}/port.conf'`);
    await does(`cd /home/ada; ${asAda} systemctl --user enable --now wispr-proxy`);
    await expect
      .poll(async () => (await debian.run(`cd /home/ada; ${asAda} wispr proxy status`)).stdout)
      .toContain(`running on http://127.0.0.1:${readerPort} `);
    await does(`cd /home/ada; ${asAda} systemctl --user stop wispr-proxy`);
  });

  it('an upgrade restarts the key server, and leaves what the administrator disabled', async () => {
    const before = await property('MainPID');
    await does('systemctl disable --now wispr-backup.timer; apt-get install -y -qq /opt/next.deb');
    expect(await property('MainPID')).not.toBe(before);
    await isHealthy();
    expect((await debian.run('systemctl is-enabled wispr-backup.timer')).stdout).toBe('disabled\n');
  });

  it('keeps configuration and state when it is removed, and erases them when it is purged', async () => {
    await does('apt-get remove -y -qq wispr');
    expect(await health()).toBe('000');
    await does('test -f /etc/wispr/keyserver.json -a -f /var/lib/wispr/master.key -a ! -e /usr/lib/wispr');
    await does('apt-get purge -y -qq wispr');
    expect((await debian.run('ls -d /etc/wispr /var/lib/wispr /etc/systemd/system/*.wants/wispr*')).stdout).toBe('');
    await does('ls /var/backups/wispr/*.db');
    expect(await does('systemctl --failed --no-legend')).toBe('');
  });
});

/** Engines of containers cannot run in every place where tests do: the steps of the file are taken here one by one. */
describe.runIf(process.getuid?.() === 0)('the steps of packaging/Containerfile', () => {
  const text = readFileSync(join(ROOT, 'packaging/Containerfile'), 'utf8').replaceAll(/\s*\\\n\s*/g, ' ');
  const step = (name: string) => new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1] ?? '';
  let root: string;
  beforeAll(() => {
    root = unpackDebian();
    cpSync(file, join(root, 'tmp', NAME));
    // A file system of its own over /tmp would hide the package that COPY has put there.
    const env = { ...process.env, SYSTEMD_NSPAWN_TMPFS_TMP: '0' };
    execFileSync('systemd-nspawn', [...QUIET, '--directory', root, 'sh', '-ec', step('RUN')], { stdio: 'pipe', env });
    cpSync(join(ROOT, 'examples/compose/keyserver.json'), join(root, 'etc/wispr/keyserver.json'));
  }, 5 * MINUTES);
  afterAll(() => rmSync(join(root, '..'), { recursive: true }));

  it(
    'lead to a key server that runs as another user than root, in a root that it cannot write, and is healthy',
    async () => {
      const state = join(root, '../state');
      execFileSync('cp', ['-a', join(root, 'var/lib/wispr'), state]);
      const environment = ['WISPR_HEALTH_HOST=keys.news.example', `HOME=${step('WORKDIR')}`];
      const place = ['--private-network', '--read-only', `--bind=${state}:${step('VOLUME')}`, '--directory', root];
      const user = ['--user', step('USER'), '--chdir', step('WORKDIR'), '--kill-signal=SIGTERM'];
      const options = [...environment.map((each) => `--setenv=${each}`), ...place, ...user];
      const machine = startCommand(['systemd-nspawn', ...QUIET, ...options, ...JSON.parse(step('CMD'))]);
      onTestFinished(async () => void (await machine.stop('SIGTERM')));
      const [, check = ''] = /^HEALTHCHECK .* CMD (.*)$/m.exec(text) ?? [];
      const inside = () => readFileSync(`/proc/${machine.pid}/task/${machine.pid}/children`, 'utf8').trim();
      const ask = ['--all', '--', 'env', ...environment, 'sh', '-c', check];
      const isHealthy = async () => (await startCommand(['nsenter', '--target', inside(), ...ask]).ended).stdout;
      await expect.poll(isHealthy).toBe('{"problems":[]}');
      expect(readFileSync(`/proc/${inside()}/status`, 'utf8')).not.toMatch(/^Uid:\s0/m);
    },
    5 * MINUTES,
  );
});
