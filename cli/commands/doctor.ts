import { existsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { CodedError } from '../../core/errors.ts';
import { DEFAULT_CONFIG_FILE, readConfig } from '../../keyserver/config/config.ts';
import { examineKeyServer } from '../../keyserver/operations/doctor.ts';
import { type Diagnosis, diagnose, failed } from '../../node-support/doctor/diagnosis.ts';
import { versionCheck } from '../../node-support/doctor/machine.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { examineSite } from '../../publisher/doctor/examine.ts';
import { CONFIGURATION_FILE } from '../../publisher/workspace/workspace.ts';
import type { OutputFlags } from '../io/common-options.ts';
import { currentIo, setExitCode } from '../io/context.ts';
import { EXIT, hintLine, print, UsageError } from '../io/voice.ts';

interface Options extends OutputFlags {
  readonly config?: string;
}

const DESCRIPTION = `look whether all that a site or a key server depends on is in order: clock, disks, names, certificates, tokens, targets, mirrors, backups, mail

it examines the publisher where wispr.json is, the key server where keyserver.json is; each check takes ten seconds at the most
exit code 3 if anything needs attention`;

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .summary('look whether all that a site or a key server depends on is in order')
    .description(DESCRIPTION)
    .option('-c, --config <file>', 'wispr.json, keyserver.json or their directory (default: this directory)')
    .option('-q, --quiet', 'print only what needs attention')
    .option('--json', 'print one JSON object')
    .action(doctor);
}

async function doctor({ config = '.', quiet, json }: Options): Promise<void> {
  const { site, keyServer } = locate(resolve(currentIo().cwd, config));
  const checked = await Promise.all([
    diagnose([versionCheck(packageJson.version, packageJson.engines.node)]),
    site === undefined ? [] : examineSite(site).catch(asProblem),
    keyServer === undefined ? [] : examine(keyServer).catch(asProblem),
  ]);
  const [versions, ofSite, ofKeyServer] = checked;
  const all = checked.flat();
  if (json) print(JSON.stringify({ versions, publisher: ofSite, keyServer: ofKeyServer }));
  else for (const diagnosis of all) if (!quiet || diagnosis.status !== 'ok') print(describe(diagnosis));
  if (all.some(({ status }) => status !== 'ok')) setExitCode(EXIT.found);
}

/** @throws KeyServerError `configuration-invalid` */
async function examine(file: string): Promise<Diagnosis[]> {
  return examineKeyServer(readConfig(file));
}

/** Makes a finding of a configuration that cannot be read, so that the other is examined. */
function asProblem(error: unknown): Diagnosis[] {
  if (!(error instanceof CodedError)) throw error;
  return [{ check: 'configuration', ...failed(error, '') }];
}

/** A file is the key server's if that is its name. */
function locate(named: string): { readonly site?: string; readonly keyServer?: string } {
  if (existsSync(named) && !statSync(named).isDirectory())
    return basename(named) === DEFAULT_CONFIG_FILE ? { keyServer: named } : { site: named };
  const [site, keyServer] = [CONFIGURATION_FILE, DEFAULT_CONFIG_FILE].map((name) => join(named, name));
  const found = {
    ...(site !== undefined && existsSync(site) && { site }),
    ...(keyServer !== undefined && existsSync(keyServer) && { keyServer }),
  };
  if (found.site ?? found.keyServer) return found;
  throw new UsageError(
    `there is neither ${CONFIGURATION_FILE} nor ${DEFAULT_CONFIG_FILE} at ${named}`,
    'name one with `-c FILE`',
  );
}

function describe({ check, status, says, remedy }: Diagnosis): string {
  const line = `${status}: ${check}: ${says}`;
  return status === 'ok' || remedy === undefined ? line : `${line}\n  ${hintLine(remedy)}`;
}
