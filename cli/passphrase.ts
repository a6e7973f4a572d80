/** Asks for passphrases: on the terminal without showing them, or from a file. Never from arguments or the environment. */
import { open } from 'node:fs/promises';
import { say, UsageError } from './voice.ts';

const MAXIMUM_LENGTH = 4096;

/** The passphrase in `file`, or what is typed at the terminal. */
export async function readPassphrase(file: string | undefined, prompt = 'passphrase'): Promise<string> {
  return file === undefined ? askHidden(prompt) : readPassphraseFile(file);
}

/** As {@link readPassphrase}, for a passphrase that is new: at the terminal it is asked for twice. */
export async function readNewPassphrase(file: string | undefined, prompt = 'new passphrase'): Promise<string> {
  if (file !== undefined) return readPassphraseFile(file);
  const first = await askHidden(prompt);
  if ((await askHidden('the same again')) === first) return first;
  throw new UsageError('the two passphrases differ', { hint: 'nothing was made; try again' });
}

/** One line; an editor's line end behind it does not count. */
async function readPassphraseFile(file: string): Promise<string> {
  const text = await readStart(file).catch((error: Error) => {
    throw new UsageError(`cannot read the passphrase file ${file}`, { cause: error, hint: error.message });
  });
  const passphrase = text.replace(/\r?\n$/, '');
  if (passphrase === '') throw new UsageError(`the passphrase file ${file} is empty`);
  if (text.length > MAXIMUM_LENGTH || passphrase.includes('\n')) {
    throw new UsageError(`the passphrase file ${file} holds more than one line`);
  }
  return passphrase;
}

async function readStart(file: string): Promise<string> {
  await using handle = await open(file);
  const { mode } = await handle.stat();
  if ((mode & 0o077) !== 0 && (mode & 0o170000) === 0o100000) {
    say(`the passphrase file ${file} can be read by other users of this machine (chmod 600 changes that)`);
  }
  const text = await handle.readFile({ encoding: 'utf8' });
  return text;
}

async function askHidden(prompt: string): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new UsageError('there is no terminal to ask for the passphrase on', {
      hint: 'name a file with the passphrase: --passphrase-file FILE',
    });
  }
  process.stderr.write(`wispr: ${prompt}: `);
  process.stdin.setRawMode(true);
  try {
    return await readKeys();
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stderr.write('\n');
  }
}

const [INTERRUPT, END, BACKSPACE, DELETE, ERASE_LINE] = ['\u0003', '\u0004', '\b', '\u007f', '\u0015'];

/** Keys up to the line end, in raw mode. What was typed ahead behind it is left for the next question. */
async function readKeys(): Promise<string> {
  let typed: string[] = [];
  for (;;) {
    const key = await nextKey();
    if (key === '\r' || key === '\n') return typed.join('');
    if (key === INTERRUPT || key === END) throw new UsageError('stopped; nothing was changed');
    if (key === BACKSPACE || key === DELETE) typed.pop();
    else if (key === ERASE_LINE) typed = [];
    else if (key >= ' ') typed.push(key);
  }
}

const typedAhead: string[] = [];

async function nextKey(): Promise<string> {
  while (typedAhead.length === 0) {
    const data = await new Promise<Buffer | string>((resolve) => process.stdin.resume().once('data', resolve));
    typedAhead.push(...data.toString());
  }
  return typedAhead.shift() ?? '';
}
