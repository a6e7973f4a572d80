/** `wispr keyserver install`: the key server as a system service. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { DEFAULT_CONFIG_FILE, readConfig } from '../../keyserver/config/config.ts';
import { installUnit, UNIT_FOLDER } from '../../keyserver/service/install.ts';
import { UNIT_NAME } from '../../keyserver/service/unit.ts';
import { currentIo } from '../io/context.ts';
import { print, say } from '../io/voice.ts';
import { ownCommand } from './service-command.ts';

interface Options {
  readonly config: string;
  readonly user: string;
  readonly folder: string;
  readonly json?: boolean;
}

export function addKeyServerInstallCommand(keyserver: Command): void {
  keyserver
    .command('install')
    .description('run the key server as a hardened systemd service; as root, again after a change of the configuration')
    .option('-c, --config <file>', 'configuration', DEFAULT_CONFIG_FILE)
    .option('--user <name>', 'the user that owns database and master key', 'wispr')
    .option('--folder <dir>', 'write the unit there, and start nothing', UNIT_FOLDER)
    .option('--json', 'print the result as one line of JSON')
    .action(run);
}

function run(_: Options, command: Command): void {
  const { config: name, user, folder, json } = command.optsWithGlobals<Options>();
  const file = resolve(currentIo().cwd, name);
  const installed = installUnit({
    command: [...ownCommand(), 'keyserver', '--config', file],
    user,
    config: readConfig(file),
    folder: resolve(currentIo().cwd, folder),
  });
  if (json) {
    print(JSON.stringify(installed));
    return;
  }
  say(`wrote ${installed.file}`);
  say(installed.started ? `started it; its log: journalctl -u ${UNIT_NAME}` : 'nothing was started');
}
