/** `wispr proxy status`: whether the Reader runs, who started it, and how what it is connected with is. */
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import {
  askStatus,
  DEFAULT_PORT,
  folderBytes,
  type KeyPlaceKind,
  keyPlaceOf,
  ReaderError,
  type ReaderFiles,
  type ReaderStatus,
  readerFiles,
  readSiteStatuses,
  type ServiceState,
  type SiteStatus,
  serviceState,
  UNIT_NAME,
  unitFile,
} from '../../client-proxy/index.ts';
import { ago } from '../../core/reading/confirmation.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { printable } from '../../node-support/printable.ts';
import { size } from '../../node-support/size.ts';
import { readPassphrase } from '../passphrase.ts';
import { EXIT, print, say } from '../voice.ts';
import { utcMinute } from './describe.ts';
import { ENABLE_HINT } from './proxy-install.ts';

interface StatusFlags {
  readonly data?: string;
  readonly keyFile?: string;
  readonly passphraseFile?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Everything that is told. */
interface Known {
  readonly running: ReaderStatus | undefined;
  readonly startedBy: 'service' | 'hand' | undefined;
  readonly service: ServiceState;
  readonly sites: readonly SiteStatus[];
  /** Why the sites cannot be told. */
  readonly problem: string | undefined;
  readonly cacheBytes: number;
  readonly keyPlace: KeyPlaceKind | undefined;
  readonly files: ReaderFiles;
}

const DESCRIPTION = `say whether the Reader runs, what it is connected with, and where its files are

exit code 0 if it runs, 1 if not`;

export function addProxyStatusCommand(proxy: Command): void {
  proxy
    .command('status')
    .summary('say whether the proxy runs, and how its sites are')
    .description(DESCRIPTION)
    .option('--data <dir>', "the folder of the reader's database (default: $XDG_DATA_HOME/wispr)")
    .option('--key-file <file>', 'its key (default: $XDG_CONFIG_HOME/wispr/reader.key)')
    .option('--passphrase-file <file>', 'its passphrase, for the sites of a proxy that does not run')
    .option('-q, --quiet', 'print nothing: the exit code says it')
    .option('--json', 'print one JSON object')
    .action(status);
}

async function status(flags: StatusFlags): Promise<void> {
  const known = await find(flags);
  if (!known.running) process.exitCode = EXIT.failed;
  if (flags.json) print(JSON.stringify(describe(known)));
  else if (!flags.quiet) tell(known);
}

async function find({ data, keyFile, passphraseFile }: StatusFlags): Promise<Known> {
  const own = {
    ...(data !== undefined && { dataDirectory: resolve(data) }),
    ...(keyFile !== undefined && { keyFile: resolve(keyFile) }),
  };
  const files = readerFiles(own);
  const [running, service] = await Promise.all([askStatus(files.dataDirectory), serviceState()]);
  const passphrase = passphraseFile === undefined ? undefined : await readPassphrase(passphraseFile);
  const given = { ...own, port: DEFAULT_PORT, ...(passphrase !== undefined && { passphrase: async () => passphrase }) };
  const stored =
    running ??
    (await readSiteStatuses(given)
      .then((sites) => ({ sites }))
      .catch(asProblem));
  return {
    running,
    startedBy: running && (running.process === service.process ? 'service' : 'hand'),
    service,
    sites: 'sites' in stored ? stored.sites : [],
    problem: 'problem' in stored ? stored.problem : undefined,
    // Counted here: the Reader that runs does not know what "wispr sync" has put there since it looked last.
    cacheBytes: await folderBytes(files.cacheDirectory),
    keyPlace: keyPlaceOf(files.dataDirectory),
    files,
  };
}

function asProblem(error: unknown): { readonly problem: string } {
  if (error instanceof ReaderError) return { problem: `${error.message} [${error.code}]` };
  throw error;
}

function describe({ running, startedBy, service, sites, problem, cacheBytes, keyPlace, files }: Known) {
  const { manager, active, enabled, file } = service;
  return {
    running: running ? { ...running, cache: { ...running.cache, bytes: cacheBytes }, startedBy } : null,
    service: { manager, unit: file || null, active, enabled },
    sites,
    ...(problem !== undefined && { problem }),
    cache: { directory: files.cacheDirectory, bytes: cacheBytes },
    files: {
      database: databaseOf(files),
      key: isInFile(keyPlace) ? (files.keyFile ?? null) : null,
      keyIn: keyPlace ?? null,
    },
  };
}

function tell(known: Known): void {
  const { running, startedBy, sites, problem, cacheBytes, keyPlace, files } = known;
  if (running) {
    const who = startedBy === 'service' ? 'the service' : 'hand';
    print(
      `running on ${running.url} since ${utcMinute(running.started)}, process ${running.process}, started by ${who}`,
    );
  } else print('not running');
  if (running?.locked) print('locked: its sites are not shown until it has its keys');
  for (const site of sites) print(`${site.site}: ${inWords(site)}: ${site.gateway}`);
  if (problem !== undefined) print(`sites: ${printable(problem)}`);
  print(`service: ${serviceInWords(known.service)}`);
  print(`cache: ${size(cacheBytes)}${running ? ` of ${size(running.cache.limit)}` : ''}: ${files.cacheDirectory}`);
  print(`database: ${databaseOf(files)}`);
  if (keyPlace === 'passphrase') print('key: made from a passphrase, and nowhere on the disk');
  else if (keyPlace === 'keyring') print("key: in the system's keyring");
  else if (files.keyFile !== undefined) print(`key: ${files.keyFile}`);
  if (!running) say(hintToStart(known.service));
  else if (running.locked) say('hint: unlock it on your page, or with "wispr identity unlock"');
  else if (sites.length === 0) say('hint: no site is connected yet: wispr bind "URL#CODE" connects one');
}

function hintToStart({ manager, file }: ServiceState): string {
  if (file === '') return 'hint: "wispr proxy" starts the Reader, "wispr proxy install" does at every login';
  return manager === 'silent' ? ENABLE_HINT : `hint: systemctl --user start ${UNIT_NAME} starts the Reader`;
}

function inWords({ publication }: SiteStatus): string {
  if (publication.kind === 'unread') return 'not read yet';
  if (publication.kind === 'refused') return `not shown [${publication.code}]`;
  const late = publication.kind === 'stale' ? ', not confirmed in time' : '';
  return `publication ${publication.version}, last confirmed ${ago(publication.confirmed, nowInSeconds())}${late}`;
}

function serviceInWords({ manager, active, enabled, file }: ServiceState): string {
  if (manager === 'absent') return 'there is no systemd on this machine';
  if (manager === 'silent')
    return file === ''
      ? `no systemd of a login session answers here; its unit would be ${unitFile()}`
      : `installed, and no systemd of a login session answers here: ${file}`;
  if (file === '') return 'not installed';
  return `${enabled ? 'starts at every login' : 'does not start by itself'}, ${active ? 'active' : 'not active'}: ${file}`;
}

/** Of a database that is not there yet, the usual file is named. */
function isInFile(place: KeyPlaceKind | undefined): boolean {
  return place === undefined || place === 'key-file';
}

function databaseOf({ dataDirectory }: ReaderFiles): string {
  return join(dataDirectory, 'reader.db');
}
