/** Talks to the service manager of this user's session. */
import { execFile } from 'node:child_process';
import { systemCode } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { readUnit, UNIT_NAME, unitFile } from '../running/unit.ts';

/** `absent`: this machine has no systemd; `silent`: it has, and no manager answers for this user's session. */
export type Manager = 'absent' | 'silent' | 'answers';

/** What the manager knows of the service. */
export interface ServiceState {
  readonly manager: Manager;
  readonly active: boolean;
  readonly enabled: boolean;
  readonly failed: boolean;
  /** The file that it was read from, or, where none answers, that it will read; empty where there is none. */
  readonly file: string;
  /** Its process; 0 where none runs. */
  readonly process: number;
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const PROPERTIES = ['ActiveState', 'UnitFileState', 'FragmentPath', 'MainPID'];

export async function serviceState(): Promise<ServiceState> {
  const ended = await run(['show', UNIT_NAME, `--property=${PROPERTIES.join(',')}`]);
  const known = new Map(ended?.stdout.split('\n').map((line) => line.split('=', 2) as [string, string]));
  const state = known.get('ActiveState');
  const manager = ended === undefined ? 'absent' : state === undefined ? 'silent' : 'answers';
  const written = manager === 'silent' && readUnit(unitFile()) ? unitFile() : '';
  return {
    manager,
    active: state === 'active' || state === 'reloading' || state === 'activating',
    enabled: known.get('UnitFileState') === 'enabled',
    failed: state === 'failed',
    file: known.get('FragmentPath') ?? written,
    process: Number(known.get('MainPID') ?? 0),
  };
}

/** @throws ReaderError `service-failed`, in the manager's words */
export async function systemctl(...args: string[]): Promise<void> {
  const ended = await run(args);
  if (ended?.code === 0) return;
  const [said = 'it gave no reason'] = ended?.stderr.trim().split('\n') ?? ['there is no systemctl'];
  throw new ReaderError('service-failed', `systemctl --user ${args.join(' ')}: ${said}`);
}

/** `undefined`: there is no such program. */
function run(args: readonly string[]): Promise<Ended | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: LIMITS.serviceTimeout, env: { ...process.env, LC_ALL: 'C', SYSTEMD_PAGER: '' } };
    execFile('systemctl', ['--user', '--no-ask-password', ...args], options, (error, stdout, stderr) => {
      if (systemCode(error) === 'ENOENT') resolve(undefined);
      else resolve({ code: error ? Number(error.code) || 1 : 0, stdout, stderr });
    });
  });
}
