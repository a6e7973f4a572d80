/** `wispr proxy status`: whether the Reader runs, and how what it is connected with is. */
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  folderBytes,
  type ReaderFiles,
  type ReaderStatus,
  readerFiles,
  readStatus,
  type SiteStatus,
  type StatusReport,
} from '../../client-proxy/index.ts';
import type { CodedError } from '../../core/errors.ts';
import { nowInSeconds, utcMinute } from '../../node-support/clock.ts';
import { printable } from '../../node-support/printable.ts';
import { size } from '../../node-support/size.ts';
import { ago } from '../../words/en/language.ts';
import { JSON_OPTION, type OutputFlags } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { readPassphrase } from '../io/passphrase.ts';
import { EXIT, print, sayHint } from '../io/voice.ts';
import { addStorageOptions, placeOptions, type StorageFlags } from './reader-options.ts';

interface StatusFlags extends StorageFlags, OutputFlags {}

interface StatusOutput extends StatusReport {
  readonly cacheBytes: number;
  readonly files: ReaderFiles;
}

const DESCRIPTION = `say whether the Reader runs, what it is connected with, and where its files are

exit code 0 if it runs, 1 if not`;

export function addProxyStatusCommand(proxy: Command): void {
  const command = proxy
    .command('status')
    .summary('say whether the proxy runs, and how its sites are')
    .description(DESCRIPTION)
    .option('-q, --quiet', 'print nothing: the exit code says it')
    .option(...JSON_OPTION);
  addStorageOptions(command).action(status);
}

async function status(flags: StatusFlags): Promise<void> {
  const known = await find(flags);
  if (known.reader === undefined) setExitCode(EXIT.failed);
  if (flags.json) print(JSON.stringify(describe(known)));
  else if (!flags.quiet) report(known);
}

async function find({ passphraseFile, ...flags }: StatusFlags): Promise<StatusOutput> {
  const own = placeOptions(flags);
  const files = readerFiles(own);
  const passphrase = passphraseFile === undefined ? undefined : await readPassphrase(passphraseFile);
  const given = { ...own, ...(passphrase !== undefined && { passphrase: async () => passphrase }) };
  return { ...(await readStatus(given)), cacheBytes: await folderBytes(files.cacheDirectory), files };
}

function describe({ reader, sites, problem, cacheBytes, keysIn, files }: StatusOutput) {
  const isInFile = keysIn === undefined || keysIn === 'key-file'; // a database that is not there yet will have the usual file
  return {
    running: reader ?? null,
    sites,
    ...(problem !== undefined && { problem: inOneLine(problem) }),
    cache: { directory: files.cacheDirectory, bytes: cacheBytes },
    files: {
      database: databaseOf(files),
      key: isInFile ? (files.keyFile ?? null) : null,
      keyIn: keysIn ?? null,
    },
  };
}

function report(known: StatusOutput): void {
  const { reader, sites, problem, keysIn, files, cacheBytes } = known;
  if (reader) reportReader(reader);
  else if (problem?.code === 'reader-unreachable') print('running, and gives no answer');
  else print('not running');
  for (const site of sites)
    print(`${site.site}: ${inWords(site)}${site.gateway === undefined ? '' : `: ${site.gateway}`}`);
  if (!reader && sites.length === 0 && problem === undefined) print('sites: none is connected');
  if (problem !== undefined) print(`sites: ${printable(inOneLine(problem))}`);
  const limit = reader === undefined ? '' : ` of ${size(reader.cache.limit)}`;
  print(`cache: ${size(cacheBytes)}${limit}: ${files.cacheDirectory}`);
  print(`database: ${databaseOf(files)}`);
  if (keysIn === 'passphrase') print('key: made from a passphrase, and nowhere on the disk');
  else if (keysIn === 'keyring') print("key: in the system's keyring");
  else if (files.keyFile !== undefined) print(`key: ${files.keyFile}`);
  const hint = hintFor(known);
  if (hint !== undefined) sayHint(hint);
}

function reportReader({ url, started, process: id, locked }: ReaderStatus): void {
  print(`running on ${url} since ${utcMinute(started)}, process ${id}`);
  if (locked) print('locked: its sites are not shown until it has its keys');
}

function inOneLine({ message, code }: CodedError): string {
  return `${message} [${code}]`;
}

function hintFor({ reader, sites, problem }: StatusOutput): string | undefined {
  if (reader === undefined) {
    // A problem that keeps the database from being read keeps the Reader from starting; a passphrase is asked for then.
    if (problem !== undefined && problem.code !== 'passphrase-needed') return problem.remedy;
    return '"wispr proxy" starts the Reader';
  }
  if (reader.locked) return 'unlock it on your page, or with "wispr identity unlock"';
  return sites.length === 0 ? 'no site is connected yet: wispr bind connects one' : undefined;
}

function inWords({ publication }: SiteStatus): string {
  if (publication.kind === 'unread') return 'not read yet';
  if (publication.kind === 'refused') return `not shown [${publication.code}]`;
  const late = publication.kind === 'stale' ? ', not confirmed in time' : '';
  return `publication ${publication.version}, last confirmed ${ago(publication.confirmed, nowInSeconds())}${late}`;
}

function databaseOf({ dataDirectory }: ReaderFiles): string {
  return join(dataDirectory, 'reader.db');
}
