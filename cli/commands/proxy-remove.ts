/** `wispr proxy remove`: undoes `wispr proxy install`, and on request everything that the Reader keeps. */
import type { Command } from 'commander';
import {
  checkErasable,
  eraseData,
  planRemoval,
  type ReaderFiles,
  readerFiles,
  removeService,
} from '../../client-proxy/index.ts';
import { confirm } from '../io/terminal.ts';
import { print, say, sayHint } from '../io/voice.ts';
import { type PlaceFlags, placeOptions } from './reader-options.ts';

interface RemoveFlags extends PlaceFlags {
  readonly eraseData?: boolean;
  readonly yes?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

const DESCRIPTION = `undo "wispr proxy install": stop the service, and remove its unit

names everything that it removes; with --erase-data also the database with all connections, its key, and what was read`;

export function addProxyRemoveCommand(proxy: Command): void {
  proxy
    .command('remove')
    .summary('undo "wispr proxy install"')
    .description(DESCRIPTION)
    .option('--erase-data', 'also erase database, key and cache; connecting again takes new invitations')
    .option('--data <dir>', "the folder of the reader's database (default: $XDG_DATA_HOME/wispr)")
    .option('--key-file <file>', 'its key; with --data, it is erased only if it is named')
    .option('-y, --yes', 'without questions')
    .option('-q, --quiet', 'say nothing unless something is wrong')
    .option('--json', 'print what was removed as one line of JSON')
    .action(remove);
}

async function remove(flags: RemoveFlags): Promise<void> {
  const { quiet, json } = flags;
  const files = readerFiles(placeOptions(flags));
  if (flags.eraseData) await confirmErasing(files, flags);
  const service = await removeService();
  const removed = [...service, ...(flags.eraseData ? await eraseAfter(service, files) : [])];
  if (json) print(JSON.stringify({ removed }));
  else if (!quiet) tell(removed, flags);
}

/** What is gone already is told in any case: a Reader may have been started since it was looked. */
async function eraseAfter(removed: readonly string[], files: ReaderFiles): Promise<string[]> {
  try {
    return await eraseData(files);
  } catch (error) {
    for (const path of removed) say(`removed ${path}`);
    throw error;
  }
}

/** Before anything is stopped or removed. */
async function confirmErasing(files: ReaderFiles, { yes, quiet }: RemoveFlags): Promise<void> {
  await checkErasable(files);
  const { unit, data } = await planRemoval(files);
  if (data.length === 0) return;
  if (!quiet) for (const path of [...unit, ...data]) say(`to be erased: ${path}`);
  const question = 'erase all this? Connecting again takes new invitations.';
  if (!yes) await confirm(question, 'erasing', 'nothing was removed');
}

function tell(removed: readonly string[], { eraseData }: RemoveFlags): void {
  for (const path of removed) say(`removed ${path}`);
  if (removed.length === 0) say('nothing was installed');
  else if (!eraseData) sayHint('database, key and cache stay; --erase-data erases them');
}
