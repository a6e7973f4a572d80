/** `wispr admin backup` and `restore`: copies of the database. */
import type { Command } from 'commander';
import { readConfig } from '../../keyserver/config/config.ts';
import { backUp, type Restored, restore } from '../../keyserver/storage/backup.ts';
import { nameOfPlace } from '../../keyserver/storage/master-key.ts';
import { count } from '../../publisher/text.ts';
import { print, say } from '../io/voice.ts';

const SHOWN_NAMES = 20;

interface Options {
  readonly config: string;
  readonly json?: boolean;
}

export function addBackupCommand(command: Command): void {
  command.action(async (file: string, { config: configFile, json }: Options) => {
    const config = readConfig(configFile);
    await backUp(config, file);
    if (json) return print(JSON.stringify({ backup: file }));
    say(`wrote ${file}: names, grants and password hashes, and keys that only the master key opens`);
    say(`keep a copy of ${nameOfPlace(config.masterKey)} in another place than this file`);
  });
}

export function addRestoreCommand(command: Command): void {
  command.action(async (file: string, { config: configFile, json }: Options) => {
    const config = readConfig(configFile);
    const restored = await restore(config, file);
    if (json) return print(JSON.stringify(restored));
    for (const line of describe(restored)) say(line);
  });
}

function describe({ made, invited, subscribers, publication, serial }: Restored): string[] {
  const when = made === null ? 'the copy was made' : new Date(made * 1000).toISOString();
  return [
    `restored ${count(subscribers, 'subscriber')}, publication ${publication ?? 'none'}, bundle serial ${serial ?? 'none'}`,
    `what came after ${when} is lost: subscriptions, revocations, passwords, devices, bundles; do it again`,
    ...(invited.length > 0
      ? [`open links are void, because they may have been used: those of ${shortened(invited)}`]
      : []),
    'start the key server; then the publisher runs "wispr publish", or "wispr withdraw" if the site was withdrawn',
  ];
}

/** On a terminal a few are enough: `--json` has all. */
function shortened(names: readonly string[]): string {
  const more = names.length - SHOWN_NAMES;
  return names.slice(0, SHOWN_NAMES).join(', ') + (more > 0 ? ` and ${more} more, which --json lists` : '');
}
