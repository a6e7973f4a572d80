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
import { readNewPassphrase, readPassphrase } from './passphrase.ts';
import { canAsk } from './terminal.ts';
import { UsageError } from './voice.ts';

export interface ReaderFlags {
  readonly data?: string;
  readonly keyFile?: string;
  readonly passphraseFile?: string;
  readonly passphrase?: boolean;
  readonly connectTo?: readonly ConnectTo[];
  readonly allowLocal?: readonly AllowLocal[];
}

/** Adds the common options to a command. */
export function addReaderOptions(command: Command): Command {
  return command
    .option('--data <dir>', "the folder of the reader's database (default: $XDG_DATA_HOME/wispr)")
    .option(
      '--key-file <file>',
      'the key that the database is sealed with (default: $XDG_CONFIG_HOME/wispr/reader.key)',
    )
    .option('--passphrase', 'protect a new database by a passphrase instead, asked for on the terminal')
    .option('--passphrase-file <file>', 'the same, with the passphrase in a file')
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
export async function readerOptions({
  data,
  keyFile,
  passphraseFile,
  passphrase,
  connectTo = [],
  allowLocal = [],
}: ReaderFlags) {
  const given = passphraseFile !== undefined ? await fromFile(passphraseFile) : passphrase ? fromTerminal : undefined;
  return {
    connectTo,
    allowLocal,
    ...(data !== undefined && { dataDirectory: data }),
    ...(keyFile !== undefined && { keyFile }),
    ...(given && { passphrase: given }),
    ...(canAsk() && { askPassphrase: fromTerminal }),
  };
}

function collecting<Rule>(parse: (text: string) => Rule) {
  return (text: string, previous: readonly Rule[] = []): readonly Rule[] => {
    try {
      return [...previous, parse(text)];
    } catch (error) {
      throw new InvalidArgumentError(
        error instanceof ReaderError ? `${error.message}\nwispr: hint: ${error.hint}` : String(error),
      );
    }
  };
}

/** Read before anything is opened, so that a wrong name changes nothing. */
async function fromFile(file: string): Promise<Passphrase> {
  const passphrase = await readPassphrase(file);
  return async () => passphrase;
}

const fromTerminal: Passphrase = async (isNew) => {
  const passphrase = isNew
    ? await readNewPassphrase(undefined, 'choose a passphrase for the reader')
    : await readPassphrase(undefined, 'passphrase of the reader');
  if (passphrase === '') throw new UsageError('an empty passphrase protects nothing');
  return passphrase;
};
