/** `wispr proxy remove`: undoes `wispr proxy install`, and on request everything that the Reader keeps. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import {
  checkErasable,
  eraseData,
  planRemoval,
  type ReaderFiles,
  readerFiles,
  removeService,
} from '../../client-proxy/index.ts';
import { askYesOrNo, canAsk } from '../io/terminal.ts';
import { print, say, UsageError } from '../io/voice.ts';

interface RemoveFlags {
  readonly eraseData?: boolean;
  readonly data?: string;
  readonly keyFile?: string;
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
  const { data, keyFile, quiet, json } = flags;
  const files = readerFiles({
    ...(data !== undefined && { dataDirectory: resolve(data) }),
    ...(keyFile !== undefined && { keyFile: resolve(keyFile) }),
  });
  if (flags.eraseData) await confirm(files, flags);
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
async function confirm(files: ReaderFiles, { yes, quiet }: RemoveFlags): Promise<void> {
  await checkErasable(files);
  const { unit, data } = await planRemoval(files);
  if (data.length === 0) return;
  if (!quiet) for (const path of [...unit, ...data]) say(`to be erased: ${path}`);
  if (yes) return;
  if (!canAsk()) throw new UsageError('erasing needs a yes, and there is no terminal to ask on', 'add --yes');
  if (!(await askYesOrNo('erase all this? Connecting again takes new invitations.')))
    throw new UsageError('nothing was removed');
}

function tell(removed: readonly string[], { eraseData }: RemoveFlags): void {
  for (const path of removed) say(`removed ${path}`);
  if (removed.length === 0) say('nothing was installed');
  else if (!eraseData) say('hint: database, key and cache stay; --erase-data erases them');
}
