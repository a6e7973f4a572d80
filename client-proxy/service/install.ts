/** Lets the Reader run whenever its user is logged in: by a unit of systemd, and by nothing else. */
import { randomBytes } from 'node:crypto';
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeDirectoryNow } from '../../node-support/make-directory.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { askStatusInPassing } from '../running/ask-readers.ts';
import type { ReaderStatus } from '../status/status.ts';
import { droppedOptions } from './dropped-options.ts';
import { refuseRunning } from './readers-in-the-way.ts';
import { type ServiceState, serviceState, systemctl } from './systemctl.ts';
import { commandOf, readUnit, UNIT_NAME, unitFile, unitText } from './unit.ts';

/** It names the reader's files, and what may be reached locally: nobody else's concern. */
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
  /** Options of the Reader that the unit had before, and has not any more. */
  readonly dropped: readonly string[];
  /** The Reader as it answers now; `undefined`: no manager of this session answers, and it was not started. */
  readonly running: ReaderStatus | undefined;
}

/**
 * Whether anything is in the way.
 *
 * @throws ReaderError `service-manager-missing`, `unit-foreign`, `reader-running`, `reader-unreachable`
 */
export async function checkInstallable({
  dataDirectory,
}: Pick<InstallOptions, 'dataDirectory'>): Promise<ServiceState> {
  const state = await serviceState();
  if (state.manager === 'absent')
    throw new ReaderError('service-manager-missing', 'there is no systemd on this machine', {
      hint: 'let your session start "wispr proxy" by what it has for that; docs/reader.md has launchd and Task Scheduler',
    });
  refuseForeign(state);
  await refuseRunning(dataDirectory, { why: 'started by hand', but: state.process });
  return state;
}

/** The unit of that name that somebody else wrote, or that another takes the place of: neither is touched. */
export function foreignUnit({ file }: Pick<ServiceState, 'file'>): string | undefined {
  const own = unitFile();
  if (readUnit(own)?.own === false) return own;
  return file !== '' && file !== own ? file : undefined;
}

/** @throws ReaderError `unit-foreign` */
export function refuseForeign(state: Pick<ServiceState, 'file'>): void {
  const foreign = foreignUnit(state);
  if (foreign === undefined) return;
  throw new ReaderError('unit-foreign', `${foreign} was not written by "wispr proxy install"`, {
    hint: 'nothing was changed; if it is not needed, move it away and try again',
  });
}

/**
 * Writes the unit, and starts it now and at every login. Doing it again changes nothing, or brings the unit up to date.
 *
 * @throws ReaderError of {@link checkInstallable}, `unit-unwritable`, `service-failed`
 */
export async function installService(options: InstallOptions): Promise<Installed> {
  const state = await checkInstallable(options);
  const file = unitFile();
  const text = unitText(options.command);
  const before = readUnit(file);
  const changed = before?.text !== text;
  const dropped = before ? droppedOptions(commandOf(before.text), options.command) : [];
  if (changed) writeUnit(file, text);
  else chmodSync(file, UNIT_MODE); // an older version let everybody read it
  if (state.manager !== 'answers') return { file, changed, dropped, running: undefined };
  await systemctl('daemon-reload');
  await systemctl('enable', UNIT_NAME);
  if (changed || !state.active) await systemctl('restart', UNIT_NAME);
  return { file, changed, dropped, running: await untilReady(options.dataDirectory) };
}

function writeUnit(file: string, text: string): void {
  const beside = `${file}.new-${randomBytes(4).toString('hex')}`;
  try {
    makeDirectoryNow(dirname(file), 0o700);
    writeFileSync(beside, text, { mode: UNIT_MODE, flag: 'wx' });
    renameSync(beside, file);
  } catch (cause) {
    rmSync(beside, { force: true });
    throw new ReaderError('unit-unwritable', `cannot write ${file}: ${systemReason(cause)}`, { cause });
  }
}

/** A service counts as started, and is known to run, before it listens. */
async function untilReady(dataDirectory: string): Promise<ReaderStatus> {
  const deadline = performance.now() + LIMITS.serviceTimeout;
  while (performance.now() < deadline) {
    const [state, { readers }] = await Promise.all([serviceState(), askStatusInPassing(dataDirectory)]);
    const running = readers.find(({ process }) => process === state.process);
    if (running) return running;
    if (state.failed) break;
    await sleep(LIMITS.servicePoll);
  }
  throw new ReaderError('service-failed', 'the Reader was installed, and does not start', {
    hint: `journalctl --user --unit ${UNIT_NAME} says why; "wispr proxy remove" takes it away`,
  });
}
