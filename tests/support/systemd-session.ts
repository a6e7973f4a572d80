/** A login session with systemd's own user manager, for a home of a test. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, ROOT, startCommand } from './programs.ts';
import type { CleanUp } from './reader-rig.ts';

export interface SystemdSession {
  /** Runs a command to its end where the manager is. */
  run(command: readonly string[]): Promise<Ended>;
}

/** The folder of the session's sockets; it is there in the session only. */
const RUNTIME = '/run/wispr-test';

/** @param env - of the person whose session it is */
export async function startSystemdSession(cleanUp: CleanUp, env: NodeJS.ProcessEnv): Promise<SystemdSession> {
  const name = `wispr-test-${randomBytes(6).toString('hex')}`;
  const session = { ...env, XDG_RUNTIME_DIR: RUNTIME };
  const own = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const spaces = [...own, '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const script = `${ROOT}tests/support/systemd-session.sh`;
  const manager = startCommand(['unshare', ...spaces, 'bash', script, name], { env: session });
  cleanUp.add(async () => {
    await manager.stop('SIGKILL');
    await removeControlGroup(name);
  });
  await manager.line(/^ready$/);
  const inside = processOf(name);
  const enter = ['nsenter', '--target', inside, ...own, '--mount', '--pid', `--wd=${env.HOME}`, '--'];
  return { run: (command) => startCommand([...enter, ...command], { env: session }).ended };
}

/** The process of this machine that is the first one in there. */
function processOf(name: string): string {
  const found = readdirSync('/proc').find((id) => {
    try {
      const [program, ...words] = /^\d+$/.test(id) ? readFileSync(`/proc/${id}/cmdline`, 'utf8').split('\0') : [];
      return program === 'bash' && words.includes(name);
    } catch {
      return false; // ended meanwhile
    }
  });
  if (found === undefined) throw new Error('the session ended');
  return found;
}

/** A control group can be removed when its last process is gone, which takes a moment. */
async function removeControlGroup(name: string): Promise<void> {
  for (const root of controlGroupsNamed('/sys/fs/cgroup', name)) {
    for (;;) {
      try {
        removeTree(root);
        break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
        await sleep(50);
      }
    }
  }
}

function controlGroupsNamed(folder: string, name: string, depth = 4): string[] {
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === name) return [path];
    return depth === 0 ? [] : controlGroupsNamed(path, name, depth - 1);
  });
}

function removeTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  }
  rmdirSync(folder);
}
