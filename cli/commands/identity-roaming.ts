/** `wispr identity export` and `wispr identity import`: taking the identity to another machine. */
import type { Command } from 'commander';
import {
  type ArrivingSite,
  exportIdentity,
  importIdentity,
  readWords,
  requireWords,
} from '../../client-proxy/index.ts';
import { utcMinute } from '../../node-support/clock.ts';
import { createFile } from '../../node-support/files/write-file.ts';
import { printable } from '../../node-support/printable.ts';
import { describeUnwritable } from '../../node-support/system-error.ts';
import { JSON_OPTION, type OutputFlags, QUIET_OPTION, YES_OPTION } from '../io/common-options.ts';
import { readSecretLine } from '../io/passphrase.ts';
import { askSecret, canAsk, confirm, confirmSites, showSecretly } from '../io/terminal.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { PROOF } from './describe.ts';
import { describeDecision } from './key-location.ts';
import {
  addProofOptions,
  addReaderOptions,
  addStorageOptions,
  type ProofFlags,
  type ReaderFlags,
  readerOptions,
  type StorageFlags,
  storageOptions,
} from './reader-options.ts';

interface CommonFlags extends OutputFlags {
  readonly wordsFile?: string;
}

interface ExportFlags extends StorageFlags, CommonFlags {
  readonly newWords?: boolean;
}

interface ImportFlags extends ReaderFlags, ProofFlags, CommonFlags {
  readonly replace?: boolean;
  readonly older?: boolean;
  readonly yes?: boolean;
}

/** Number of times that words may be mistyped at one go. */
const ATTEMPTS = 5;

export function addRoamingCommands(identity: Command): void {
  withCommon(
    addStorageOptions(
      identity
        .command('export')
        .summary('write a roaming file: your identity under seven words')
        .description('write a roaming file: your identity, to be opened elsewhere with seven words')
        .argument('<file>', 'where to; a previous roaming file is replaced'),
    )
      .option('--new-words', 'choose other words; previous files still open with theirs')
      .option('--words-file <file>', 'write new words into this new file instead of showing them'),
  ).action(runExport);
  withCommon(
    addReaderOptions(
      addProofOptions(
        identity
          .command('import')
          .summary('take over the identity in a roaming file')
          .description('take over the identity in a roaming file, with its seven words; its sites are proved again')
          .argument('<from>', 'a file, or its address on the web'),
      ),
    )
      .option('--words-file <file>', 'take the words from a file instead of asking for them')
      .option('--replace', 'forget what is here first; otherwise the file is added to it')
      .option('--older', 'take the file even if this device knows a newer one')
      .option(...YES_OPTION),
  ).action(runImport);
}

function withCommon(command: Command): Command {
  return command.option(...QUIET_OPTION).option(...JSON_OPTION);
}

async function runExport(to: string, flags: ExportFlags): Promise<void> {
  const { wordsFile, newWords = false, quiet, json } = flags;
  const options = { ...(await storageOptions(flags)), to, newWords };
  const report = await exportIdentity({ ...options, showWords: async (words) => hand(words, wordsFile) });
  const { number, sites, hasNewWords } = report;
  if (json) return print(JSON.stringify({ file: to, number, sites, newWords: hasNewWords }));
  if (quiet) return;
  say(`written: ${to}, roaming file number ${number}, with ${sites.length === 0 ? 'no site yet' : sites.join(', ')}`);
  if (!hasNewWords) say('it opens with the same words as the one before');
  if (!hasNewWords && wordsFile !== undefined)
    sayHint(`${wordsFile} was not written: words are shown once; "--new-words" makes others`);
  if (hasNewWords && number > 1)
    say('previous files still open with the previous words: remove them wherever you put them');
  sayHint('put it where you reach it from elsewhere; there: wispr identity import ADDRESS');
}

/** Shows words on the terminal, or writes them into a new file: never into a pipe or a log. */
function hand(words: string, file: string | undefined): void {
  if (file !== undefined) {
    writeWords(words, file);
    return;
  }
  if (!canAsk())
    throw new UsageError('there is no terminal to show the words on', 'name a file for them: --words-file FILE');
  showSecretly([
    'the words that open the roaming file; write them down, they are not shown again',
    '',
    `    ${words}`,
    '',
    'anyone who has the file and the words reads what you may read',
  ]);
}

function writeWords(words: string, file: string): void {
  let made: boolean;
  try {
    made = createFile(file, `${words}\n`, 0o600);
  } catch (error) {
    throw new UsageError(describeUnwritable(file, error), undefined, { cause: error });
  }
  if (!made) throw new UsageError(`${file} is there already`, 'name a new file for the words');
}

async function runImport(from: string, flags: ImportFlags): Promise<void> {
  const { wordsFile, replace = false, older = false, quiet, json } = flags;
  const options = await readerOptions(flags);
  if (replace && !flags.yes) await confirmReplace();
  const words = () => (wordsFile === undefined ? askWords() : readSecretLine(wordsFile, 'words').then(requireWords));
  const { trustSite: trustSites = [], dnsServer: dnsServers = [] } = flags;
  const how = { replace, acceptOlder: older, trustSites, dnsServers };
  const report = await importIdentity({
    ...options,
    ...how,
    from,
    words,
    confirm: (sites) => confirmArriving(sites, flags),
  });
  if (json) return print(JSON.stringify(report));
  if (!quiet) describe(report);
}

/** Shows what the file would connect, and asks for each site that was proved: the author of the file may have trusted any publisher. */
async function confirmArriving(sites: readonly ArrivingSite[], { yes, quiet }: ImportFlags): Promise<string[]> {
  if (!quiet || !yes) introduce(sites);
  const open = sites.filter(({ proof }) => proof !== undefined).map(({ site }) => site);
  return yes ? open : confirmSites(open, 'add --yes if this roaming file is your own');
}

function introduce(sites: readonly ArrivingSite[]): void {
  say('this roaming file connects this device with');
  for (const { site, name, publisher, keyServer, proof, problem } of sites) {
    say(
      `  ${site}, of ${printable(name)}  (${proof === undefined ? `not proved, so left out: ${problem}` : PROOF[proof]})`,
    );
    say(`    key server ${keyServer}, fingerprint ${publisher}`);
  }
}

type Report = Awaited<ReturnType<typeof importIdentity>>;

function describe({
  number,
  written,
  age,
  added,
  taken,
  left,
  removed,
  cacheForgotten,
  sameDevice,
  isRunning,
  keysNowIn,
}: Report): void {
  say(`taken over: roaming file number ${number}, of ${utcMinute(written)}`);
  if (age === 'unknown')
    say('this device has seen no other: compare the number with "wispr identity" on the device that wrote it');
  if (age === 'beside')
    say('this device knows another file with this number or a higher one; what both say is here now');
  if (added.length > 0) say(`can be read now: ${added.join(', ')}`);
  else say('nothing in it is new here');
  if (removed.length > 0) say(`forgotten: ${removed.join(', ')}`);
  if (!cacheForgotten) say('left: what was read of them, in the cache, from which it could not be removed');
  for (const site of taken) say(`left as it is: ${site}, which is connected to another publisher or key server here`);
  for (const site of left) say(`not connected: ${site}; the same file can be imported again`);
  if (!sameDevice) say('this device keeps its own seed for publishers to come; "--replace" takes the one in the file');
  if (keysNowIn) for (const line of describeDecision(keysNowIn)) say(line);
  if (!isRunning) sayHint('"wispr proxy" has to run while you read, and says where to open them');
}

function confirmReplace(): Promise<void> {
  const question = 'forget every publisher that this device is connected with, and take those of the file?';
  return confirm(question, '--replace', 'given up; nothing was changed', 'add --yes if you mean it');
}

/** Asks for words. A fault in them is shown only to the person who typed them. */
async function askWords(): Promise<string> {
  if (!canAsk())
    throw new UsageError('there is no terminal to ask for the words on', 'name a file with them: --words-file FILE');
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { words, problem, advice } = readWords(await askSecret('the seven words of the roaming file'));
    if (words !== undefined) return words;
    showSecretly([advice ?? problem ?? '']);
  }
  throw new UsageError('given up after too many tries; nothing was changed');
}
