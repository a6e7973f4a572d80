/** Debian 12 as debootstrap makes it, booted by systemd-nspawn. Root alone can; the network is that of this machine. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, ROOT, startCommand } from './programs.ts';

const CACHED = join(ROOT, '.cache/debian-12.tar');
/** Packages of a small server besides the essential ones; a session of a user needs libpam-systemd. */
const PACKAGES = 'systemd,systemd-sysv,dbus,libpam-systemd,ca-certificates';
const ENVIRONMENT = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  LANG: 'C.UTF-8',
  DEBIAN_FRONTEND: 'noninteractive',
};

/** Unpacks a fresh root, which is made once. @returns its folder */
export function unpackDebian(): string {
  const folder = mkdtempSync('/var/tmp/wispr-debian-');
  const root = join(folder, 'root');
  if (!existsSync(CACHED)) {
    execFileSync('debootstrap', ['--variant=minbase', `--include=${PACKAGES}`, 'bookworm', root], { stdio: 'pipe' });
    execFileSync('tar', ['-cf', `${CACHED}.new`, '-C', folder, 'root']);
    renameSync(`${CACHED}.new`, CACHED);
    return root;
  }
  execFileSync('tar', ['-xf', CACHED, '-C', folder]);
  return root;
}

export interface BootedDebian {
  /** Runs a script of sh as root in there, to its end. */
  run(script: string): Promise<Ended>;
  /** Ends it, and removes its folder. */
  stop(): Promise<void>;
}

/** @param root - of {@link unpackDebian} */
export async function bootDebian(root: string): Promise<BootedDebian> {
  const options = ['--quiet', '--boot', '--register=no', '--keep-unit', '--console=pipe'];
  const machine = startCommand(['systemd-nspawn', ...options, '--directory', root]);
  const run = (script: string) => {
    const [first = ''] = readFileSync(`/proc/${machine.pid}/task/${machine.pid}/children`, 'utf8').split(' ');
    const environment = Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`);
    return startCommand(['nsenter', '--target', first, '--all', '--', 'env', '-i', ...environment, 'sh', '-c', script])
      .ended;
  };
  for (let said = ''; said !== 'running\n'; await sleep(200)) {
    if (said === 'degraded\n') throw new Error((await run('systemctl --failed')).stdout);
    said = (await run('systemctl is-system-running').catch(() => undefined))?.stdout ?? '';
  }
  return {
    run,
    stop: async () => {
      await machine.stop('SIGTERM');
      rmSync(join(root, '..'), { recursive: true });
    },
  };
}
