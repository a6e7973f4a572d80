/** `wispr proxy install`: lets the Reader run whenever its user is logged in. */
import type { Command } from 'commander';
import {
  checkInstallable,
  type Installed,
  installService,
  readerFiles,
  UNIT_NAME,
  unitFile,
} from '../../client-proxy/index.ts';
import { confirm } from '../io/terminal.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { addProxyOptions, connectionOptions, type ProxyFlags, placeOptions } from './reader-options.ts';
import { serviceCommand } from './service-command.ts';

/** Where no session answers. */
export const ENABLE_HINT = `where you are logged in, type: systemctl --user daemon-reload && systemctl --user enable --now ${UNIT_NAME}`;

interface InstallFlags extends ProxyFlags {
  readonly yes?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

const DESCRIPTION = `let the proxy run whenever you are logged in, by a systemd user unit

writes $XDG_CONFIG_HOME/systemd/user/${UNIT_NAME}, and starts it now; doing it again brings the unit up to date; "wispr proxy remove" undoes it`;

export function addProxyInstallCommand(proxy: Command): void {
  const command = proxy
    .command('install')
    .summary('let the proxy run whenever you are logged in')
    .description(DESCRIPTION)
    .option('-y, --yes', 'without questions')
    .option('-q, --quiet', 'say nothing unless something is wrong')
    .option('--json', 'print the result as one line of JSON');
  addProxyOptions(command).action(install);
}

async function install(flags: InstallFlags): Promise<void> {
  const { passphrase, yes, quiet, json } = flags;
  if (passphrase)
    throw new UsageError(
      'a service has no terminal to ask for a passphrase on',
      'name a file that only you can read, with --passphrase-file',
    );
  await connectionOptions(flags); // a file that cannot be read is said now, not by the service
  const { dataDirectory } = readerFiles(placeOptions(flags));
  await checkInstallable(dataDirectory);
  const question = `write ${unitFile()}, and start the Reader now and at every login?`;
  if (!yes) await confirm(question, 'installing a service', 'nothing was installed');
  const installed = await installService({ command: serviceCommand(flags), dataDirectory });
  if (json) print(JSON.stringify(describe(installed)));
  else if (!quiet) tell(installed);
}

function describe({ file, changed, running }: Installed) {
  return {
    unit: file,
    changed,
    running: running !== undefined,
    ...(running && { proxy: running.url }),
  };
}

function tell({ file, changed, running }: Installed): void {
  say(`${changed ? 'wrote' : 'already there:'} ${file}`);
  if (running) {
    say(`the Reader runs on ${running.url}, and will at every login`);
    return;
  }
  say('no systemd of a login session answers here, so the Reader was not started');
  sayHint(`${ENABLE_HINT}`);
}
