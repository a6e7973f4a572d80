/** The systemd user unit that keeps the Reader running: systemd.service(5), systemd.exec(5), systemd.syntax(7). */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemCode } from '../../node-support/system-error.ts';
import { COMMON_HARDENING, unitWord } from '../../node-support/systemd.ts';
import { ReaderError } from '../errors.ts';
import { baseDirectory, defaultDataDirectory } from '../store/locations.ts';
import type { Preferences } from '../store/preferences.ts';
import { SettingsKeeper } from '../store/settings.ts';

export const UNIT_NAME = 'wispr.service';

/** By it `remove` knows its own. */
const MARK = '# Written by "wispr proxy install"; "wispr proxy remove" takes it away. Every install writes it anew.';

/** Folders that the session that installs has elsewhere than usual: the service would look for the Reader's files in the usual ones. */
const CARRIED = ['XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME'];

export function unitFile(): string {
  return join(baseDirectory(process.env.XDG_CONFIG_HOME, '.config'), 'systemd', 'user', UNIT_NAME);
}

/** The link that starts it when the user logs in. */
export function wantsLink(): string {
  return join(unitFile(), '..', 'default.target.wants', UNIT_NAME);
}

/** The folders in which these are, the innermost first. They are made where they are missing. */
export function unitFolders(): string[] {
  const folder = dirname(unitFile());
  return [dirname(wantsLink()), folder, dirname(folder)];
}

/** What stands there: a unit of this program, another unit, or none. */
export function readUnit(file: string): { readonly text: string; readonly own: boolean } | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    return { text, own: text.startsWith(MARK) };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * What a user's service may have without help of the system. Left out is what needs a name space of its own (ProtectSystem and the like:
 * where those are forbidden to users, the service would not start) and what V8 cannot do with (MemoryDenyWriteExecute).
 *
 * @param command - program and arguments, with absolute paths
 * @throws ReaderError `service-failed` for what a unit cannot hold
 */
export function unitText(command: readonly string[]): string {
  const carried = CARRIED.flatMap((name) => {
    const value = process.env[name];
    return value?.startsWith('/') ? [`Environment=${quote(`${name}=${value}`, false)}`] : [];
  });
  return `${MARK}
[Unit]
Description=wispr Reader, which verifies and decrypts connected sites
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${command.map((word) => quote(word, true)).join(' ')}
${carried.map((line) => `${line}\n`).join('')}Restart=on-failure
RestartSec=2
TimeoutStopSec=10
${COMMON_HARDENING}

[Install]
WantedBy=default.target
`;
}

/** Program and arguments of a unit that {@link unitText} wrote. */
function commandOf(text: string): string[] {
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(text) ?? [];
  const words = Array.from(line.matchAll(/"((?:\\.|[^"\\])*)"/g), ([, word = '']) => word);
  return words.map((word) => word.replace(/\\(.)/g, '$1').replaceAll('%%', '%').replaceAll('$$', '$'));
}

/** One word for systemd. @throws ReaderError `service-failed` */
function quote(word: string, isCommand: boolean): string {
  const quoted = unitWord(word, isCommand);
  if (quoted !== undefined) return quoted;
  throw new ReaderError('service-failed', 'a path or an argument has a control character, which no unit can hold');
}

/** Where a Reader on this database will listen that is not told otherwise: by its service, or its settings; `undefined`: as usual. */
export function expectedPort(directory: string, preferences: Preferences): number | undefined {
  return installedPort(directory) ?? new SettingsKeeper(preferences).current.port;
}

/** The port that the service was installed with, if it is there, opens this database and was given one. */
function installedPort(directory: string): number | undefined {
  const unit = readUnit(unitFile());
  if (!unit?.own) return undefined;
  const command = commandOf(unit.text);
  const argumentOf = (name: string) => command.find((_, index) => command[index - 1] === name);
  if ((argumentOf('--data') ?? defaultDataDirectory()) !== resolve(directory)) return undefined;
  return Number(argumentOf('--port')) || undefined;
}
