/** `wispr identity protect`: where the key of the reader's database is. */
import { Argument, type Command } from 'commander';
import { protectIdentity } from '../../client-proxy/index.ts';
import { JSON_OPTION, type OutputFlags, QUIET_OPTION } from '../io/common-options.ts';
import { readNewPassphrase } from '../io/passphrase.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { addStorageOptions, type StorageFlags, storageOptions } from './reader-options.ts';

interface Flags extends StorageFlags, OutputFlags {
  readonly newPassphraseFile?: string;
}

type Kind = 'keyring' | 'passphrase' | 'key-file';

export function addProtectCommand(identity: Command): void {
  addStorageOptions(
    identity
      .command('protect')
      .summary('choose where the key is, or change the passphrase')
      .description('choose what your keys are sealed with, or change the passphrase')
      .addArgument(
        new Argument('<how>', 'what they are sealed with from now on').choices(['keyring', 'passphrase', 'key-file']),
      ),
  )
    .option('--new-passphrase-file <file>', 'take the new passphrase from a file instead of asking for it')
    .option(...QUIET_OPTION)
    .option(...JSON_OPTION)
    .action(run);
}

async function run(kind: Kind, flags: Flags): Promise<void> {
  const how = kind === 'passphrase' ? { kind, choose: () => choose(flags.newPassphraseFile) } : { kind };
  const { before, after, discarded } = await protectIdentity(await storageOptions(flags), how);
  if (flags.json) return print(JSON.stringify({ before, after, discarded }));
  if (flags.quiet) return;
  say(`your keys are sealed again: before, with ${NAMES[before]}; now, with ${NAMES[after]}`);
  if (after === 'passphrase') sayHint('a lost passphrase cannot be recovered; keep it where you keep others');
  if (before === 'key-file' && after !== 'key-file')
    say('the previous key file is still there, because other databases may need it; delete it if there are none');
  else if (!discarded && before === 'keyring')
    say('the previous key could not be removed from the keyring; it opens only old copies of the database');
  if (before !== after) say('earlier copies of the database open with what they were sealed with then');
}

const NAMES: Readonly<Record<Kind, string>> = {
  keyring: 'a key in the keyring of this system',
  passphrase: 'a passphrase',
  'key-file': 'a key in a file that only you can read',
};

async function choose(file: string | undefined): Promise<string> {
  const passphrase = await readNewPassphrase(file, 'new passphrase for your keys', '--new-passphrase-file');
  if (passphrase === '') throw new UsageError('an empty passphrase protects nothing');
  return passphrase;
}
