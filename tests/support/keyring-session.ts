/** A desktop session's keyring, real: a message bus and GNOME's keyring of Debian, both for one test alone. */
import { execFile, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { startCommand } from './programs.ts';
import { type CleanUp, temporaryFolder } from './reader-rig.ts';

const OWNER = ['--session', '--dest=org.freedesktop.DBus', '--print-reply', '/', 'org.freedesktop.DBus.NameHasOwner'];

/** Starts a keyring whose bus, with a folder for configurations, is in the environment of this process until the test is over. @returns a folder for files */
export async function enterKeyringSession(cleanUp: CleanUp): Promise<string> {
  const folder = await temporaryFolder(cleanUp);
  const home = join(folder, 'home');
  await mkdir(home, { mode: 0o700 });
  const bus = startCommand(['dbus-daemon', '--session', '--nofork', '--nopidfile', '--print-address']);
  cleanUp.add(() => bus.stop());
  const address = await bus.line(/^unix:/);
  vi.stubEnv('DBUS_SESSION_BUS_ADDRESS', address).stubEnv('XDG_CONFIG_HOME', join(folder, 'config'));
  cleanUp.add(async () => void vi.unstubAllEnvs());
  const places = { HOME: home, XDG_DATA_HOME: home, XDG_RUNTIME_DIR: home };
  const env = { PATH: process.env.PATH, ...places, DBUS_SESSION_BUS_ADDRESS: address };
  const program = ['--foreground', '--unlock', '--components=secrets'];
  const keyring = spawn('gnome-keyring-daemon', program, { env, stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = new Promise((resolve) => keyring.once('close', resolve));
  cleanUp.add(() => {
    keyring.kill();
    return ended;
  });
  keyring.stdin.end('the password of the session');
  await untilOwned(env);
  return folder;
}

/** The name of the keyring's entry, as a database has it. */
export function entryIn(database: Buffer): string {
  const [name] = /reader [A-Za-z0-9_-]{22}/.exec(database.toString('latin1')) ?? [];
  if (name === undefined) throw new Error('the database names no entry');
  return name;
}

/** Asked again and again: nothing says when the keyring has come to the bus. */
async function untilOwned(env: NodeJS.ProcessEnv): Promise<void> {
  const ask = promisify(execFile);
  for (;;) {
    const { stdout } = await ask('dbus-send', [...OWNER, 'string:org.freedesktop.secrets'], { env });
    if (stdout.includes('true')) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
