/**
 * The master keys. Text, one key a line, so that keys can be added and old rows still be read:
 *
 *   wispr-master-key/1
 *   1 <base64url of 32 bytes>
 *
 * It is in a file, in an environment variable, or what a command prints, for a key manager to hold.
 */
import { execFile } from 'node:child_process';
import { chownSync, existsSync, readFileSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { createFile, replaceFileSync, writeFileAtomicSync } from '../../node-support/files/write-file.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { KeyServerError, writeNamed } from '../errors.ts';

const FIRST_LINE = 'wispr-master-key/1';
const KEY_LENGTH = 32;
/** Bytes that a command may print, and milliseconds that it may take. */
const COMMAND_OUTPUT = 65_536;
const COMMAND_TIMEOUT = 10_000;

/** The master keys by their version; all decrypt. */
export type MasterKeys = ReadonlyMap<number, Uint8Array>;

/** Place of the master keys, as the configuration has it: a file, an environment variable, or a command with its arguments. */
export type MasterKeySource = string | { readonly environment: string } | { readonly command: readonly string[] };

/** Names a source in messages. */
export function nameOfSource(source: MasterKeySource): string {
  if (typeof source === 'string') return source;
  return 'environment' in source
    ? `the environment variable ${source.environment}`
    : `the command ${source.command[0] ?? ''}`;
}

/** Tells whether there is a master key. What a command would print is not asked for. */
export function hasMasterKey(source: MasterKeySource): boolean {
  if (typeof source === 'string') return existsSync(source);
  return 'command' in source || process.env[source.environment] !== undefined;
}

/** Makes a master key file where there is none. @throws KeyServerError `configuration-invalid` */
export function createMasterKey(path: string, keys = withNewKey(new Map())): void {
  writeNamed(path, () => createFile(path, textOf(keys), 0o600));
}

/**
 * Writes master keys into their file, in place of those that were there. The file keeps its owner, so that the key server can read it
 * when another user runs the command.
 */
export function writeMasterKeys(path: string, keys: MasterKeys): void {
  const { uid, gid } = statSync(path);
  replaceFileSync(path, (temporary) => {
    writeFileAtomicSync(temporary, textOf(keys), { mode: 0o600 });
    if (process.getuid?.() === 0) chownSync(temporary, uid, gid);
  });
}

/** The same keys, and one more, of the next version. */
export function withNewKey(keys: MasterKeys): MasterKeys {
  return new Map([...keys, [Math.max(0, ...keys.keys()) + 1, randomBytes(KEY_LENGTH)]]);
}

/** Reads the master keys. @throws KeyServerError `storage-key-refused` */
export async function readMasterKeys(source: MasterKeySource): Promise<MasterKeys> {
  const keys = parseMasterKeys(await textAt(source));
  if (keys === undefined)
    throw refused(
      `${nameOfSource(source)} ${typeof source === 'string' ? 'is not' : 'does not hold'} a master key file`,
    );
  return keys;
}

async function textAt(source: MasterKeySource): Promise<string> {
  if (typeof source === 'string') return readKeyFile(source);
  if ('command' in source) return outputOf(source.command);
  return process.env[source.environment] ?? '';
}

function readKeyFile(path: string): string {
  if (!existsSync(path)) throw refused(`the master key is not at ${path}; without it the database cannot be read`);
  if ((statSync(path).mode & 0o077) !== 0) throw refused(`other users of this machine may read the master key ${path}`);
  return readFileSync(path, 'utf8');
}

/** Runs a command. Its standard error is the key manager's, for the operator's terminal or journal. */
async function outputOf([program = '', ...args]: readonly string[]): Promise<string> {
  try {
    const options = { timeout: COMMAND_TIMEOUT, maxBuffer: COMMAND_OUTPUT };
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    // The error's message has the arguments and what was printed; as the cause, it would have the output.
    throw refused(`the command ${program} gives no master key: it ended with ${systemCode(error) ?? 'a signal'}`);
  }
}

function refused(message: string): KeyServerError {
  return new KeyServerError('storage-key-refused', message);
}

function textOf(keys: MasterKeys): string {
  return [FIRST_LINE, ...Array.from(keys, ([version, key]) => `${version} ${toBase64url(key)}`), ''].join('\n');
}

function parseMasterKeys(text: string): MasterKeys | undefined {
  const [first, ...lines] = text.trimEnd().split('\n');
  const keys = new Map<number, Uint8Array>();
  for (const line of lines) {
    const [, version = '', encoded = ''] = /^([1-9]\d{0,8}) (\S+)$/.exec(line) ?? [];
    const key = fromBase64url(encoded, KEY_LENGTH);
    if (!key || keys.has(Number(version))) return undefined;
    keys.set(Number(version), key);
  }
  return first === FIRST_LINE && keys.size > 0 ? keys : undefined;
}
