/** The system's keyring: Secret Service (GNOME, KDE, KeePassXC), the Keychain of macOS, the Credential Manager of Windows. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isSea } from 'node:sea';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../core/errors.ts';
import { programOfThread } from '../../node-support/program-files.ts';
import { DEFAULT_LIMITS } from '../limits.ts';

/** The keyring could not be asked, or did not answer in time. The message is a few words without a secret in them. */
export class KeyringUnavailable extends Error {}

/** The secret of an entry, or `undefined` if there is no such entry. @throws KeyringUnavailable */
export async function readKeyring(
  entry: string,
  timeout: number = DEFAULT_LIMITS.keyringTimeout,
): Promise<string | undefined> {
  return (await ask('get', entry, '', timeout)) || undefined;
}

/** Makes an entry, and reads it again: what cannot be read again must not be relied on. @throws KeyringUnavailable */
export async function writeKeyring(
  entry: string,
  secret: string,
  timeout: number = DEFAULT_LIMITS.keyringTimeout,
): Promise<void> {
  await ask('set', entry, secret, timeout);
  if ((await ask('get', entry, '', timeout)) !== secret)
    throw new KeyringUnavailable('it did not keep what it was given');
}

/** Removes an entry; none is left also where there was none. @throws KeyringUnavailable */
export async function deleteFromKeyring(entry: string, timeout: number = DEFAULT_LIMITS.keyringTimeout): Promise<void> {
  await ask('delete', entry, '', timeout);
}

/** Returns why there can be no keyring, as far as that shows without asking; `undefined` if there may be one. */
export function whyNoKeyring(): string | undefined {
  if (isSea()) return 'this single file carries no library for it';
  if (process.platform === 'win32' || process.platform === 'darwin') return undefined;
  const { DBUS_SESSION_BUS_ADDRESS: address, XDG_RUNTIME_DIR: runtime } = process.env;
  if (address || (runtime && existsSync(join(runtime, 'bus')))) return undefined;
  return 'no desktop session runs here';
}

async function ask(action: 'get' | 'set' | 'delete', entry: string, secret: string, timeout: number): Promise<string> {
  const lack = whyNoKeyring();
  if (lack !== undefined) throw new KeyringUnavailable(lack);
  const file = fileURLToPath(programOfThread('keyring-child', import.meta.url));
  const child = spawn(process.execPath, [file, action, entry], { stdio: 'pipe', timeout, killSignal: 'SIGKILL' });
  child.stdin.on('error', () => undefined).end(secret);
  try {
    const ended = once(child, 'close');
    const [[code], answer, said] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    if (code === 0) return answer;
    throw new KeyringUnavailable(code === null ? 'it did not answer in time' : inOneLine(said));
  } catch (error) {
    throw error instanceof KeyringUnavailable ? error : new KeyringUnavailable(reasonOf(error), { cause: error });
  }
}

/** The library's own words, without what it says about itself, and without a stack. */
function inOneLine(said: string): string {
  const [first = ''] = said.trim().split('\n');
  return first.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 200) || 'it gave no reason';
}
