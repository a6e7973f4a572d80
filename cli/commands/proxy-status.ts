/** `wispr proxy status`: whether the Reader runs, who started it, and how what it is connected with is. */

import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import {
  askStatus,
  DEFAULT_PORT,
  folderBytes,
  foreignUnit,
  type KeyPlaceKind,
  keyPlaceOf,
  ReaderError,
  type ReaderFiles,
  type ReaderStatus,
  type RunningReaders,
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
import { setExitCode } from '../io/context.ts';
import { readPassphrase } from '../io/passphrase.ts';
import { EXIT, print, sayHint } from '../io/voice.ts';
import { utcMinute } from './describe.ts';
import { ENABLE_HINT } from './proxy-install.ts';
import { failIfAnyDidNot, sayWhoIsSilent } from './readers-told.ts';

interface StatusFlags {
  readonly data?: string;
  readonly keyFile?: string;
  readonly passphraseFile?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** One Reader that runs, and who started it. */
interface Running extends ReaderStatus {
  readonly startedBy: 'service' | 'hand';
}

/** Everything that is told. */
interface Known {
  /** Several may run on one database, each on a port of its own. */
  readonly readers: readonly Running[];
  /** Readers beside those that do not say how they are. */
  readonly silent: RunningReaders['silent'];
  readonly service: ServiceState;
  /** Of the first Reader that can tell of them; of the database where none runs. */
  readonly sites: readonly SiteStatus[];
  /** Why the sites cannot be told. */
  readonly problem: ReaderError | undefined;
  readonly cacheBytes: number;
  readonly keyPlace: KeyPlaceKind | undefined;
  readonly files: ReaderFiles;
}

const DESCRIPTION = `say whether the Reader runs, what it is connected with, and where its files are

exit code 0 if it runs, 1 if not`;

/** What becomes of what a Reader could not write. */
export const UNKEPT_MEANS = 'what is newer than it is used from memory, and is lost when the Reader stops';

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
  if (known.readers.length === 0) setExitCode(EXIT.failed);
  failIfAnyDidNot(known.silent);
  if (flags.json) print(JSON.stringify(describe(known)));
  else if (!flags.quiet) tell(known);
}

async function find({ data, keyFile, passphraseFile }: StatusFlags): Promise<Known> {
  const own = {
    ...(data !== undefined && { dataDirectory: resolve(data) }),
    ...(keyFile !== undefined && { keyFile: resolve(keyFile) }),
  };
  const files = readerFiles(own);
  const [{ readers, silent }, service] = await Promise.all([askStatus(files.dataDirectory), serviceState()]);
  const passphrase = passphraseFile === undefined ? undefined : await readPassphrase(passphraseFile);
  const given = { ...own, port: DEFAULT_PORT, ...(passphrase !== undefined && { passphrase: async () => passphrase }) };
  const told = readers.find(({ locked }) => !locked) ?? readers[0];
  const stored = told ?? (await readSiteStatuses(given).then(asSites, asProblem));
  return {
    readers: readers.map((reader) => ({
      ...reader,
      startedBy: reader.process === service.process ? 'service' : 'hand',
    })),
    silent,
    service,
    sites: 'sites' in stored ? stored.sites : [],
    problem: 'problem' in stored ? stored.problem : undefined,
    // Counted here: the Reader that runs does not know what "wispr sync" has put there since it looked last.
    cacheBytes: await folderBytes(files.cacheDirectory),
    keyPlace: keyPlaceOf(files.dataDirectory),
    files,
  };
}

function asSites(sites: readonly SiteStatus[]) {
  return { sites };
}

function asProblem(problem: unknown): { readonly problem: ReaderError } {
  if (problem instanceof ReaderError) return { problem };
  throw problem;
}

function describe({ readers, silent, service, sites, problem, cacheBytes, keyPlace, files }: Known) {
  const { manager, active, enabled, file } = service;
  const all = readers.map((reader) => ({ ...reader, cache: { ...reader.cache, bytes: cacheBytes } }));
  return {
    running: all[0] ?? null,
    readers: all,
    ...(silent.length > 0 && { silent }),
    service: {
      manager,
      unit: file || null,
      active,
      enabled,
      ...(foreignUnit(service) !== undefined && { foreign: true }),
    },
    sites,
    ...(problem !== undefined && { problem: inOneLine(problem) }),
    cache: { directory: files.cacheDirectory, bytes: cacheBytes },
    files: {
      database: databaseOf(files),
      key: isInFile(keyPlace) ? (files.keyFile ?? null) : null,
      keyIn: keyPlace ?? null,
    },
  };
}

function tell(known: Known): void {
  const { readers, sites, problem, keyPlace, files } = known;
  for (const reader of readers) tellReader(reader);
  if (readers.length === 0) print('not running');
  if (readers.length === 0) for (const site of sites) tellSite(site);
  if (readers.length === 0 && sites.length === 0 && problem === undefined) print('sites: none is connected');
  if (problem !== undefined) print(`sites: ${printable(inOneLine(problem))}`);
  print(`service: ${serviceInWords(known.service)}`);
  print(`cache: ${cacheInWords(known)}`);
  print(`database: ${databaseOf(files)}`);
  if (keyPlace === 'passphrase') print('key: made from a passphrase, and nowhere on the disk');
  else if (keyPlace === 'keyring') print("key: in the system's keyring");
  else if (files.keyFile !== undefined) print(`key: ${files.keyFile}`);
  sayWhoIsSilent(known.silent);
  const hint = hintFor(known);
  if (hint !== undefined) sayHint(hint);
}

function tellReader({ url, started, process: id, startedBy, locked, sites, unusable, unkept }: Running): void {
  const who = startedBy === 'service' ? 'the service' : 'hand';
  print(`running on ${url} since ${utcMinute(started)}, process ${id}, started by ${who}`);
  if (unusable !== undefined)
    print(
      `unusable: ${printable(unusable.problem)} [${unusable.code}]; its sites are not shown until that is back and unlocked, or it is started again`,
    );
  else if (locked) print('locked: its sites are not shown until it has its keys');
  if (unkept !== undefined) print(`not kept: ${printable(unkept.problem)} [${unkept.code}]; ${UNKEPT_MEANS}`);
  for (const site of sites) tellSite(site);
}

function tellSite(site: SiteStatus): void {
  print(`${site.site}: ${inWords(site)}: ${site.gateway}`);
}

/** Each Reader has a limit of its own. */
function cacheInWords({ readers, cacheBytes, files }: Known): string {
  const limits = [...new Set(readers.map(({ cache }) => size(cache.limit)))];
  return `${[size(cacheBytes), ...(limits.length > 0 ? [limits.join(' or ')] : [])].join(' of ')}: ${files.cacheDirectory}`;
}

function inOneLine({ message, code }: ReaderError): string {
  return `${message} [${code}]`;
}

/** What to do next, if there is anything. */
function hintFor({ readers, sites, problem, service }: Known): string | undefined {
  if (readers.length === 0) {
    // What keeps the database from being read keeps the Reader from starting; a passphrase is asked for then.
    if (problem !== undefined && problem.code !== 'passphrase-needed') return problem.remedy;
    return hintToStart(service);
  }
  const unusable = readers.find((reader) => reader.unusable)?.unusable;
  if (unusable !== undefined) return unusable.hint;
  if (readers.some(({ locked }) => locked)) return 'unlock it on your page, or with "wispr identity unlock"';
  const unkept = readers.find((reader) => reader.unkept)?.unkept;
  if (unkept !== undefined) {
    const mend =
      unkept.code === 'disk-full' ? 'make room on the disk' : 'see what keeps the database from being written';
    return `${mend}, and do not stop the Reader before`;
  }
  return sites.length === 0 ? 'no site is connected yet: wispr bind "URL#CODE" connects one' : undefined;
}

function hintToStart(service: ServiceState): string {
  const { manager, file } = service;
  if (foreignUnit(service) !== undefined)
    return '"wispr proxy" starts the Reader; "wispr proxy install" does nothing while that unit is there: if it is not needed, move it away';
  if (file === '') return '"wispr proxy" starts the Reader, "wispr proxy install" does at every login';
  return manager === 'silent' ? ENABLE_HINT : `systemctl --user start ${UNIT_NAME} starts the Reader`;
}

function inWords({ publication }: SiteStatus): string {
  if (publication.kind === 'unread') return 'not read yet';
  if (publication.kind === 'refused') return `not shown [${publication.code}]`;
  const late = publication.kind === 'stale' ? ', not confirmed in time' : '';
  return `publication ${publication.version}, last confirmed ${ago(publication.confirmed, nowInSeconds())}${late}`;
}

function serviceInWords(service: ServiceState): string {
  const { manager, active, enabled, file } = service;
  if (manager === 'absent') return 'there is no systemd on this machine';
  const foreign = foreignUnit(service);
  if (foreign !== undefined) return `somebody else's, which "wispr proxy install" did not write: ${foreign}`;
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
