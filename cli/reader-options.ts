/** What the reader's commands have in common: where the database is, how it is opened, and how sockets are redirected. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  type AllowLocal,
  type ConnectTo,
  type Passphrase,
  parseAllowLocal,
  parseConnectTo,
  ReaderError,
} from '../client-proxy/index.ts';
import { offerPassphrase, readNewPassphrase, readPassphrase } from './io/passphrase.ts';
import { canAsk } from './io/terminal.ts';
import { plain, UsageError } from './io/voice.ts';

/** Of the commands that use what is there. */
export interface StorageFlags {
  readonly data?: string;
  readonly keyFile?: string;
  readonly passphraseFile?: string;
}

/** Of the commands that make the database where there is none. */
export interface ReaderFlags extends StorageFlags {
  readonly passphrase?: boolean;
  readonly connectTo?: readonly ConnectTo[];
  readonly allowLocal?: readonly AllowLocal[];
}

/** Adds what says where the database is and what opens it. */
export function addStorageOptions(command: Command): Command {
  return command
    .option('--data <dir>', "the folder of the reader's database (default: $XDG_DATA_HOME/wispr)")
    .option('--key-file <file>', 'where its key is, if in a file (default: $XDG_CONFIG_HOME/wispr/reader.key)')
    .option('--passphrase-file <file>', 'the passphrase of the database, on the one line of a file');
}

/** Adds the common options to a command that makes the database where there is none. */
export function addReaderOptions(command: Command): Command {
  return addWays(
    command
      .option('--data <dir>', "the folder of the reader's database (default: $XDG_DATA_HOME/wispr)")
      .option(
        '--key-file <file>',
        'the file with the key of the database, where it is not in the system keyring; a new database gets one there (default: $XDG_CONFIG_HOME/wispr/reader.key)',
      )
      .option('--passphrase', 'protect a new database by a passphrase instead, asked for on the terminal')
      .option('--passphrase-file <file>', 'the same, with the passphrase in a file'),
  );
}

/** Adds what redirects sockets, and what permits them. */
function addWays(command: Command): Command {
  return command
    .option(
      '--connect-to <rule>',
      'HOST1:PORT1:HOST2:PORT2: connect to HOST2:PORT2 for HOST1:PORT1; may be repeated',
      collecting(parseConnectTo),
    )
    .option(
      '--allow-local <host>',
      'HOST[:PORT] or ADDRESS/BITS on this computer or in its own network that may be reached; may be repeated',
      collecting(parseAllowLocal),
    );
}

/** The options that the functions of the reader take. */
export async function readerOptions({ passphrase, connectTo = [], allowLocal = [], ...flags }: ReaderFlags) {
  const given = flags.passphraseFile === undefined && passphrase ? { passphrase: fromTerminal } : {};
  return { connectTo, allowLocal, ...(await storageOptions(flags)), ...given };
}

/** Those that say where the database is and what opens it. */
export async function storageOptions({ data, keyFile, passphraseFile }: StorageFlags) {
  const given = passphraseFile === undefined ? undefined : await fromFile(passphraseFile);
  return {
    ...(data !== undefined && { dataDirectory: data }),
    ...(keyFile !== undefined && { keyFile }),
    ...(given && { passphrase: given }),
    ...(canAsk() && { askPassphrase: offered }),
  };
}

function collecting<Rule>(parse: (text: string) => Rule) {
  return (text: string, previous: readonly Rule[] = []): readonly Rule[] => {
    try {
      return [...previous, parse(text)];
    } catch (error) {
      throw new InvalidArgumentError(
        error instanceof ReaderError ? `${error.message}\nwispr: hint: ${plain(error.remedy ?? '')}` : String(error),
      );
    }
  };
}

/** Read before anything is opened, so that a wrong name changes nothing; and again when it is needed, so that it is not held. */
async function fromFile(file: string): Promise<Passphrase> {
  await readPassphrase(file);
  return () => readPassphrase(file);
}

const fromTerminal: Passphrase = async (isNew) => {
  const passphrase = isNew
    ? await readNewPassphrase(undefined, 'choose a passphrase for the reader')
    : await readPassphrase(undefined, 'passphrase of the reader');
  if (passphrase === '') throw new UsageError('an empty passphrase protects nothing');
  return passphrase;
};

/** Optional: without one, the key is in a file. */
const offered: Passphrase = (isNew) =>
  isNew
    ? offerPassphrase('choose a passphrase for your keys (or just press Enter: they are kept in a file of yours)')
    : fromTerminal(false);
