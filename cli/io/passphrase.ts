/** Asks for passphrases: on the terminal without showing them, or from a file. Never from arguments or the environment. */
import type { Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { isLongEnough } from '../../node-support/argon2id.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { isFirstTime } from './context.ts';
import { askSecret, canAsk } from './terminal.ts';
import { say, UsageError } from './voice.ts';

const MAXIMUM_LENGTH = 4096;
const PASSPHRASE_FILE = '--passphrase-file';

/** The passphrase in `file`, or what is typed at the terminal. */
export async function readPassphrase(
  file: string | undefined,
  prompt = 'passphrase',
  option = PASSPHRASE_FILE,
): Promise<string> {
  return file === undefined ? ask(prompt, option) : readSecretLine(file, 'passphrase');
}

/**
 * Reads a new passphrase, as {@link readPassphrase}: at the terminal it is asked for twice.
 *
 * @param option - option that names the file
 */
export async function readNewPassphrase(
  file: string | undefined,
  prompt = 'new passphrase',
  option = PASSPHRASE_FILE,
): Promise<string> {
  if (file !== undefined) return readSecretLine(file, 'passphrase');
  return confirmed(await ask(prompt, option), option);
}

/** Asks on the terminal for a passphrase that is new; an empty answer means none. */
export async function offerPassphrase(prompt: string): Promise<string> {
  const first = await ask(prompt, PASSPHRASE_FILE);
  return first === '' ? '' : confirmed(first, PASSPHRASE_FILE);
}

/** Asks for it again. A passphrase that is too short is left to what it is for, which refuses it. */
async function confirmed(first: string, option: string): Promise<string> {
  if (!isLongEnough(first)) return first;
  if ((await ask('the same again', option)) === first) return first;
  throw new UsageError('the two passphrases differ', 'nothing was made; try again');
}

/**
 * A secret out of a file with one line; an editor's line end behind it does not count. One that other users may read is refused, as
 * key files are.
 *
 * @param what - the secret, in words that may stand before "file"
 * @throws UsageError
 */
export async function readSecretLine(file: string, what: string): Promise<string> {
  const text = await readClosed(file, what).catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
    throw new UsageError(describeUnreadable(file, error), `name a file that holds the ${what} on one line`, {
      cause: error,
    });
  });
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new UsageError(`the ${what} file ${file} is empty`);
  if (text.length > MAXIMUM_LENGTH || secret.includes('\n'))
    throw new UsageError(`the ${what} file ${file} holds more than one line`);
  return secret;
}

async function readClosed(file: string, what: string): Promise<string> {
  await using handle = await open(file);
  if (isOpenToOthers(await handle.stat()))
    throw new UsageError(`other users of this machine may read the ${what} file ${file}`, `chmod 600 ${file}`);
  return await handle.readFile({ encoding: 'utf8' }); // awaited here, before the file is closed
}

/** Says of files with keys that others can read them; they are encrypted under a passphrase, which may be guessed. */
export async function warnOfOpenKeys(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const found = await stat(file).catch(() => undefined); // a missing file is reported where it is needed
    if (found && isOpenToOthers(found) && isFirstTime(file))
      say(`${file} can be read by other users of this machine (chmod 600 changes that)`);
  }
}

/** Pipes and devices count as closed to others. */
function isOpenToOthers(found: Stats): boolean {
  return process.platform !== 'win32' && found.isFile() && (found.mode & 0o077) !== 0;
}

function ask(question: string, option: string): Promise<string> {
  if (canAsk()) return askSecret(question);
  throw new UsageError(
    'there is no terminal to ask for the passphrase on',
    `name a file with the passphrase: ${option} FILE`,
  );
}
