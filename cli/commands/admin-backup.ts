/** `wispr admin backup` and `restore`: copies of the database. */
import type { Command } from 'commander';
import { type KeyServerConfig, readConfig } from '../../keyserver/config/config.ts';
import { backUp, type Restored, restore } from '../../keyserver/storage/backup.ts';
import { backUpDaily, type DailyBackup } from '../../keyserver/storage/daily-backup.ts';
import { nameOfSource } from '../../keyserver/storage/master-key.ts';
import { count } from '../../publisher/text.ts';
import { parseWholeNumber } from '../io/arguments.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { print, say, UsageError } from '../io/voice.ts';

const SHOWN_NAMES = 20;

interface BackupOptions extends AdminFlags {
  readonly daily?: string;
  readonly keep: number;
}

const KEPT_DAYS = 14;

export function addBackupCommand(command: Command): void {
  command
    .option('--daily <dir>', 'write wispr-YYYY-MM-DD.db there, and test that it can be restored')
    .option('--keep <copies>', 'with --daily: remove the oldest above so many', parseWholeNumber(9999), KEPT_DAYS)
    .action(runBackup);
}

async function runBackup(named: string | undefined, options: BackupOptions): Promise<void> {
  const { config: configFile, daily, keep, json } = options;
  if ((named === undefined) === (daily === undefined)) throw new UsageError('name either a file or --daily DIR');
  const config = readConfig(configFile);
  const { file, made, removed } = daily
    ? await backUpDaily(config, daily, keep)
    : await backUpOnce(config, named ?? '');
  if (json) return print(JSON.stringify({ backup: file, ...(daily && { made, removed }) }));
  say(
    made
      ? `wrote ${file}: names, grants and password hashes, and keys that only the master key opens`
      : `${file} is there already`,
  );
  if (daily) say('it can be restored: it was, into a temporary database');
  for (const old of removed) say(`removed ${old}`);
  say(`keep a copy of ${nameOfSource(config.masterKey)} in another place than this file`);
}

async function backUpOnce(config: KeyServerConfig, file: string): Promise<DailyBackup> {
  await backUp(config, file);
  return { file, made: true, removed: [] };
}

export function addRestoreCommand(command: Command): void {
  command
    .option('--move', "nothing has changed since the copy was made: keep readers' sessions, open links and operators")
    .action(
      async (file: string, { config: configFile, json, move = false }: AdminFlags & { readonly move?: boolean }) => {
        const config = readConfig(configFile);
        const restored = await restore(config, file, move);
        if (json) return print(JSON.stringify(restored));
        for (const line of move ? describeMoved(restored) : describe(restored)) say(line);
      },
    );
}

function describeMoved({ subscribers }: Restored): string[] {
  return [
    `moved ${count(subscribers, 'subscriber')}, with their sessions and open links`,
    'operators sign in again, and their open links are void; start the key server',
  ];
}

function describe({ made, subscribers, publication, serial, ...restored }: Restored): string[] {
  const { invited, sessions, operators, tokens, passkeys } = restored;
  const when = made === null ? 'the copy was made' : new Date(made * 1000).toISOString();
  const named = (names: readonly string[], text: string) => (names.length > 0 ? [`${text} ${shortened(names)}`] : []);
  return [
    `restored ${count(subscribers, 'subscriber')}, publication ${publication ?? 'none'}, bundle serial ${serial ?? 'none'}`,
    `what came after ${when} is lost: subscriptions, revocations, passwords, devices, bundles; do it again`,
    ...(sessions > 0 ? [`ended ${count(sessions, 'session')}: readers sign in again`] : []),
    ...named(invited, 'open links are void, because they may have been used: those of'),
    ...(invited.length > 0 ? ['"wispr admin invite --state invited" makes new ones, for a mail or a file'] : []),
    ...named(operators, 'removed operators, who may have been dismissed; invite with "wispr admin operator NAME":'),
    ...named(tokens, 'tokens are good again, also if revoked since; revoke with "wispr admin token --revoke NAME":'),
    ...(passkeys > 0 ? [`${count(passkeys, 'passkey')} of readers can be used again, also if removed since`] : []),
    'start the key server; then the publisher runs "wispr publish", or "wispr withdraw" if the site was withdrawn',
  ];
}

/** Shortens a list for a terminal: `--json` has all names. */
function shortened(names: readonly string[]): string {
  const more = names.length - SHOWN_NAMES;
  return names.slice(0, SHOWN_NAMES).join(', ') + (more > 0 ? ` and ${more} more, which --json lists` : '');
}
