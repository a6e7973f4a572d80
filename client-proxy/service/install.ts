/** Lets the Reader run whenever its user is logged in: by a unit of systemd, and by nothing else. */
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeFileAtomic } from '../../node-support/files/write-file.ts';
import { makeDirectory } from '../../node-support/make-directory.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { askStatus, type ReaderStatus } from '../running/status.ts';
import { readUnit, UNIT_NAME, unitFile, unitText } from '../running/unit.ts';
import { type ServiceState, serviceState, systemctl } from './systemctl.ts';

/** It names the reader's files, and what may be reached locally: private to this user. */
const UNIT_MODE = 0o600;

export interface InstallOptions {
  /** The Reader and its arguments, with absolute paths. */
  readonly command: readonly string[];
  /** Of the database that it will open. */
  readonly dataDirectory: string;
}

export interface Installed {
  readonly file: string;
  /** The unit is another than before. */
  readonly changed: boolean;
  /** The Reader as it answers now; `undefined`: no manager of this session answers, and it was not started. */
  readonly running: ReaderStatus | undefined;
}

/**
 * Whether anything is in the way.
 *
 * @throws ReaderError `service-failed`, `reader-running`, `reader-unreachable`
 */
export async function checkInstallable(dataDirectory: string): Promise<ServiceState> {
  const state = await serviceState();
  if (state.manager === 'absent') throw new ReaderError('service-failed', 'there is no systemd on this machine');
  refuseForeign(state);
  await refuseRunning(dataDirectory, 'started by hand', state.process);
  return state;
}

/** A unit of that name by another author, or one that another takes the place of: neither is touched. */
export function foreignUnit({ file }: Pick<ServiceState, 'file'>): string | undefined {
  const own = unitFile();
  if (readUnit(own)?.own === false) return own;
  return file !== '' && file !== own ? file : undefined;
}

/** @throws ReaderError `service-failed` */
export function refuseForeign(state: Pick<ServiceState, 'file'>): void {
  const foreign = foreignUnit(state);
  if (foreign === undefined) return;
  throw new ReaderError('service-failed', `${foreign} was not written by "wispr proxy install"`, {
    fields: { file: foreign },
  });
}

/**
 * For what a Reader that runs on a database is in the way of.
 *
 * @param why - follows "a Reader runs already, on …"
 * @param but - the process of the service: that one is not in the way
 * @throws ReaderError `reader-running`; `reader-unreachable` where it gives no answer
 */
export async function refuseRunning(directory: string, why: string, but?: number): Promise<void> {
  const running = await askStatus(directory);
  if (running === undefined || running.process === but) return;
  const { url, process } = running;
  throw new ReaderError('reader-running', `a Reader runs already, on ${url}, ${why}`, { fields: { process } });
}

/**
 * Writes the unit, and starts it now and at every login. Doing it again changes nothing, or brings the unit up to date.
 *
 * @throws ReaderError of {@link checkInstallable}, `service-failed`
 */
export async function installService(options: InstallOptions): Promise<Installed> {
  const state = await checkInstallable(options.dataDirectory);
  const file = unitFile();
  const text = unitText(options.command);
  const changed = readUnit(file)?.text !== text;
  if (changed) await writeUnit(file, text);
  if (state.manager !== 'answers') return { file, changed, running: undefined };
  await systemctl('daemon-reload');
  await systemctl('enable', UNIT_NAME);
  if (changed || !state.active) await systemctl('restart', UNIT_NAME);
  return { file, changed, running: await untilReady(options.dataDirectory) };
}

async function writeUnit(file: string, text: string): Promise<void> {
  try {
    await makeDirectory(dirname(file), 0o700);
    await writeFileAtomic(file, text, { mode: UNIT_MODE });
  } catch (cause) {
    throw new ReaderError('service-failed', `cannot write ${file}: ${systemReason(cause)}`, { cause });
  }
}

/** A service counts as started before it listens. */
async function untilReady(dataDirectory: string): Promise<ReaderStatus> {
  const deadline = performance.now() + LIMITS.serviceTimeout;
  while (performance.now() < deadline) {
    const [state, running] = await Promise.all([serviceState(), askStatus(dataDirectory).catch(() => undefined)]);
    if (running !== undefined && running.process === state.process) return running;
    if (state.failed) break;
    await sleep(LIMITS.servicePoll);
  }
  throw new ReaderError('service-failed', 'the Reader was installed, and does not start');
}
