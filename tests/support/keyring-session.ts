/** A desktop session's keyring, real: a message bus and GNOME's keyring of Debian, both for one test alone. */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { startCommand } from './programs.ts';
import { type CleanUp, temporaryFolder } from './reader-rig.ts';

export interface KeyringSession {
  /** What a program of this session has in its environment. */
  readonly env: { readonly DBUS_SESSION_BUS_ADDRESS: string };
  /** Ends the keyring, as if the person had not signed in; the bus goes on. */
  close(): Promise<void>;
}

const OWNER = ['--session', '--dest=org.freedesktop.DBus', '--print-reply', '/', 'org.freedesktop.DBus.NameHasOwner'];

export async function startKeyringSession(): Promise<KeyringSession> {
  const home = await mkdtemp(join(tmpdir(), 'wispr-keyring-'));
  const bus = startCommand(['dbus-daemon', '--session', '--nofork', '--nopidfile', '--print-address']);
  const address = await bus.line(/^unix:/);
  const env = { DBUS_SESSION_BUS_ADDRESS: address };
  const place = { PATH: process.env.PATH, HOME: home, XDG_DATA_HOME: home, XDG_RUNTIME_DIR: home, ...env };
  const keyring = spawn('gnome-keyring-daemon', ['--foreground', '--unlock', '--components=secrets'], {
    env: place,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => keyring.once('close', () => resolve()));
  keyring.stdin.end('the password of the session');
  await untilOwned(place);
  return {
    env,
    close: async () => {
      keyring.kill();
      await ended;
      await bus.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

const BUS = 'DBUS_SESSION_BUS_ADDRESS';

/** Starts one whose bus, with a folder for configurations, is in the environment of this process until the test is over. @returns a folder for files */
export async function enterKeyringSession(cleanUp: CleanUp): Promise<string> {
  const folder = await temporaryFolder(cleanUp);
  const session = await startKeyringSession();
  vi.stubEnv(BUS, session.env[BUS]).stubEnv('XDG_CONFIG_HOME', join(folder, 'config'));
  cleanUp.add(async () => {
    vi.unstubAllEnvs();
    await session.close();
  });
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
