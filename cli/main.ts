/** The `wispr` command. Each command lives in `commands/`; this file alone sets the exit code. */
import { Command, CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addAdminCommand } from './commands/admin.ts';
import { addBindCommand } from './commands/bind.ts';
import { addCacheConfigCommand } from './commands/cache-config.ts';
import { addCheckCommand } from './commands/check.ts';
import { addInitCommand } from './commands/init.ts';
import { addInspectCommand } from './commands/inspect.ts';
import { addInviteCommand } from './commands/invite.ts';
import { addKeysCommand } from './commands/keys.ts';
import { addKeyServerCommand } from './commands/keyserver.ts';
import { addProtectCommand } from './commands/protect.ts';
import { addProxyCommand } from './commands/proxy.ts';
import { addPublishCommand } from './commands/publish.ts';
import { addTimestampCommand } from './commands/timestamp.ts';
import { addVerifyCommand } from './commands/verify.ts';
import { addWithdrawCommand } from './commands/withdraw.ts';
import { adaptUsageErrors } from './usage-errors.ts';
import { EXIT, explain } from './voice.ts';

function createProgram(): Command {
  const program = new Command('wispr')
    .description('encrypted publishing over caches that nobody has to trust')
    .version(packageJson.version, '-V, --version')
    .showSuggestionAfterError()
    .exitOverride();
  addInitCommand(program);
  addCheckCommand(program);
  addProtectCommand(program);
  addPublishCommand(program);
  addVerifyCommand(program);
  addInspectCommand(program);
  addKeysCommand(program);
  addTimestampCommand(program);
  addWithdrawCommand(program);
  addKeyServerCommand(program);
  addAdminCommand(program);
  addInviteCommand(program);
  addProxyCommand(program);
  addBindCommand(program);
  addCacheConfigCommand(program);
  adaptUsageErrors(program);
  return program;
}

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? EXIT.good : EXIT.usage) : explain(error);
}
