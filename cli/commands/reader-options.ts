/** Options of the Reader's commands: where the database is, what opens it, how sockets are redirected, cache, parent proxy and host proofs. */
import { Resolver } from 'node:dns';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import {
  type AllowLocal,
  type ConnectTo,
  DEFAULT_PORT,
  ParentProxy,
  type Passphrase,
  parseAllowLocal,
  parseConnectTo,
  parseHttpcryptTo,
  ReaderError,
} from '../../client-proxy/index.ts';
import { isSite } from '../../core/site/site.ts';
import { PASSPHRASE_OPTION, share } from '../io/common-options.ts';
import { offerPassphrase, readNewPassphrase, readPassphrase, readSecretLine } from '../io/passphrase.ts';
import { canAsk } from '../io/terminal.ts';
import { hintLine, UsageError } from '../io/voice.ts';

export interface LocationFlags {
  readonly data?: string;
  readonly keyFile?: string;
}

/** Flags of the commands that use what is there. */
export interface StorageFlags extends LocationFlags {
  readonly passphraseFile?: string;
}

/** Flags of the commands that make the database where there is none. */
export interface ReaderFlags extends StorageFlags {
  readonly passphrase?: boolean;
  readonly connectTo?: readonly ConnectTo[];
  readonly allowLocal?: readonly AllowLocal[];
}

const READERS = 'Common options of readers:';

export function addStorageOptions(command: Command): Command {
  return share(command, READERS, (shared) =>
    shared
      .option('--data <dir>', "the folder of the Reader's database (default: $XDG_DATA_HOME/wispr)")
      .option('--key-file <file>', 'the file with its key (default: the keyring, or $XDG_CONFIG_HOME/wispr/reader.key)')
      .option(...PASSPHRASE_OPTION),
  );
}

/** Adds the same for a command that makes the database where there is none; with what redirects sockets, and what permits them. */
export function addReaderOptions(command: Command): Command {
  return share(addStorageOptions(command), READERS, (shared) =>
    shared
      .option('--passphrase', 'protect a new database by a passphrase, asked for on the terminal')
      .option(
        '--connect-to <rule>',
        'HOST1:PORT1:HOST2:PORT2: connect to HOST2:PORT2 for HOST1:PORT1; repeatable',
        collecting(parseConnectTo, '`news.example:80:127.0.0.1:8080`'),
      )
      .option(
        '--allow-local <host>',
        'HOST[:PORT] or ADDRESS/BITS of this computer or its network to allow; repeatable',
        collecting(parseAllowLocal, '`printer.lan:631`, `127.0.0.1` or `192.168.1.0/24`'),
      ),
  );
}

export async function readerOptions({ passphrase, connectTo = [], allowLocal = [], ...flags }: ReaderFlags) {
  const given = flags.passphraseFile === undefined && passphrase ? { passphrase: fromTerminal } : {};
  return { connectTo, allowLocal, ...(await storageOptions(flags)), ...given };
}

export function placeOptions({ data, keyFile }: LocationFlags) {
  return {
    ...(data !== undefined && { dataDirectory: resolve(data) }),
    ...(keyFile !== undefined && { keyFile: resolve(keyFile) }),
  };
}

export async function storageOptions({ passphraseFile, ...place }: StorageFlags) {
  const given = passphraseFile === undefined ? undefined : await fromFile(passphraseFile);
  return {
    ...placeOptions(place),
    ...(given && { passphrase: given }),
    ...(canAsk() && { askPassphrase: offered }),
  };
}

/** @param example - of a rule, for the hint */
function collecting<Rule>(parse: (text: string, others: readonly Rule[]) => Rule, example: string) {
  return (text: string, previous: readonly Rule[] = []): readonly Rule[] => {
    try {
      return [...previous, parse(text, previous)];
    } catch (error) {
      throw new InvalidArgumentError(
        error instanceof ReaderError
          ? `${error.message}\nwispr: ${hintLine(`write it like ${example}`)}`
          : String(error),
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

/** Asks for a passphrase; without one, the key is in a file. */
const offered: Passphrase = (isNew) =>
  isNew
    ? offerPassphrase('choose a passphrase for your keys (or just press Enter: they are kept in a file of yours)')
    : fromTerminal(false);

/** Flags of the commands that connect with hosts, and keep what they read. */
export interface ConnectionFlags extends ReaderFlags {
  readonly cacheSize?: number;
  readonly parentProxy?: string;
  readonly parentProxyFile?: string;
  readonly httpcryptTo?: readonly ReturnType<typeof parseHttpcryptTo>[];
}

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

/** Adds what {@link addReaderOptions} does, with the size of the cache and a parent proxy. */
export function addConnectionOptions(command: Command): Command {
  return share(addReaderOptions(command), READERS, (shared) =>
    shared
      .option('--parent-proxy <url>', 'fetch all plain HTTP through this proxy: http://127.0.0.1:3128')
      .option('--parent-proxy-file <file>', 'a file with its URL, for one with a password')
      .option(
        '--httpcrypt-to <url#key>',
        'send plain HTTP for the host of URL over HTTPCrypt, and in no other way; repeatable',
        collecting(parseHttpcryptTo, '`http://news.example/a/#KEY`, once for each host'),
      )
      .option(
        '--cache-size <size>',
        'size of the encrypted cache: 500M, 20G, 0 for none (default: that of the settings, or 2G)',
        parseSize,
      ),
  );
}

/**
 * The options that the functions of the reader take, with nothing where nothing was named.
 *
 * @throws UsageError, ReaderError `argument-invalid`
 */
export async function connectionOptions(given: ConnectionFlags) {
  const { cacheSize, parentProxy, parentProxyFile, httpcryptTo, ...flags } = given;
  const parent = await parentProxyIn(parentProxy, parentProxyFile);
  return {
    ...(await readerOptions(flags)),
    ...(cacheSize !== undefined && { cacheBytes: cacheSize }),
    ...(parent !== undefined && { parentProxy: parent }),
    ...(httpcryptTo && { httpcryptTo }),
  };
}

function parseSize(text: string): number {
  const [matched, digits = '', unit = ''] = /^(\d{1,15}(?:\.\d{1,3})?)([KMGT]?)(?:i?B)?$/i.exec(text) ?? [];
  const bytes = Math.floor(Number(digits) * (UNITS[unit.toUpperCase()] ?? Number.NaN));
  if (matched === undefined || !Number.isSafeInteger(bytes))
    throw new InvalidArgumentError('a size is a number of bytes, or of K, M, G or T: 500M, 20G.');
  return bytes;
}

async function parentProxyIn(named?: string, file?: string): Promise<string | undefined> {
  if (file === undefined) return named === undefined ? undefined : withoutPassword(named);
  if (named !== undefined)
    throw new UsageError('--parent-proxy and --parent-proxy-file name the same thing', 'leave one of them out');
  const url = await readSecretLine(file, 'parent proxy');
  new ParentProxy(url); // a malformed URL is reported now, not at the first request
  return url;
}

/** Names the options given to a command that a running Reader carries out, and of which the Reader has its own. */
export function ownOptions(flags: ConnectionFlags): { ownOptions: string[] } {
  const names = ['cacheSize', 'connectTo', 'allowLocal', 'httpcryptTo', 'parentProxy', 'parentProxyFile'] as const;
  const given = names.filter((name) => flags[name] !== undefined);
  return { ownOptions: given.map((name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`) };
}

/** Refuses a password: every user of the machine can see the arguments of a program while it runs. */
function withoutPassword(url: string): string {
  if (!new ParentProxy(url).hasCredentials) return url;
  throw new UsageError(
    'a password in --parent-proxy would be shown to all users of this machine',
    'put the URL into a file that only you can read, and name that with --parent-proxy-file',
  );
}

export interface ProofFlags {
  readonly trustSite?: readonly string[];
  readonly dnsServer?: readonly string[];
}

export function addProofOptions(command: Command): Command {
  return share(command, READERS, (shared) =>
    shared
      .option('--trust-site <host>', 'development: accept HOST without a host proof; repeatable', collectSite)
      .option('--dns-server <address>', 'ask this DNS server for host proofs; repeatable', collectDnsServer),
  );
}

function collectSite(text: string, previous: readonly string[] = []): readonly string[] {
  const site = text.toLowerCase();
  if (!isSite(site)) throw new InvalidArgumentError('a site is a host name, like news.example');
  return [...previous, site];
}

function collectDnsServer(text: string, previous: readonly string[] = []): readonly string[] {
  try {
    new Resolver().setServers([text]);
  } catch {
    throw new InvalidArgumentError('a DNS server is an IP address, perhaps with a port, like 192.0.2.1:53');
  }
  return [...previous, text];
}

/** Flags of the proxy, whether it is run by hand or as a service. */
export interface ProxyFlags extends ConnectionFlags, ProofFlags {
  readonly port?: number;
  readonly otherUsers?: boolean;
}

export function addProxyOptions(command: Command): Command {
  command
    .option(
      '-p, --port <port>',
      `the port to listen on, 0 for a free one (default: that of the settings, or ${DEFAULT_PORT})`,
      parsePort,
    )
    .option('--other-users', 'serve all users of this machine');
  return addConnectionOptions(addProofOptions(command));
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('a port is a number from 0 to 65535.');
  return port;
}
