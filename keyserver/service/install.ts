/** Puts the unit where systemd finds it, and starts the service. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomicSync } from '../../node-support/files/write-file.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { KeyServerError } from '../errors.ts';
import { UNIT_MARK, UNIT_NAME, type UnitOptions, unitText } from './unit.ts';

export const UNIT_FOLDER = '/etc/systemd/system';

export interface InstallOptions extends UnitOptions {
  /** Where the unit goes; only that of systemd is started. */
  readonly folder: string;
}

export interface Installed {
  readonly file: string;
  /** Whether it was started, or only written. */
  readonly started: boolean;
}

/**
 * Writes the unit and, in systemd's own folder, starts the service, or starts it anew. It is done again after a change of the configuration.
 *
 * @throws KeyServerError `argument-invalid` for a user that there is not, a unit by another author, what systemd refuses
 */
export function installUnit(options: InstallOptions): Installed {
  const { folder, user } = options;
  const file = join(folder, UNIT_NAME);
  if (existsSync(file) && !readFileSync(file, 'utf8').startsWith(UNIT_MARK))
    throw refused(`${file} was not written by "wispr keyserver install"`);
  try {
    run('id', '--user', user);
  } catch {
    throw refused(
      `there is no user ${user}: useradd --system --home-dir /var/lib/wispr --shell /usr/sbin/nologin ${user}`,
    );
  }
  try {
    writeFileAtomicSync(file, unitText(options), { mode: 0o644 });
  } catch (cause) {
    if (cause instanceof KeyServerError) throw cause;
    throw new KeyServerError('argument-invalid', `cannot write ${file}: ${systemReason(cause)}`, { cause });
  }
  if (folder !== UNIT_FOLDER) return { file, started: false };
  run('systemctl', 'daemon-reload');
  run('systemctl', 'enable', UNIT_NAME);
  run('systemctl', 'restart', UNIT_NAME);
  return { file, started: true };
}

/** What it says goes to the terminal, but for what it prints. */
function run(program: string, ...args: string[]): void {
  try {
    execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 60_000 });
  } catch (cause) {
    throw refused(`${program} ${args.join(' ')} failed: ${systemCode(cause) ?? 'see journalctl'}`);
  }
}

function refused(message: string): KeyServerError {
  return new KeyServerError('argument-invalid', message);
}
