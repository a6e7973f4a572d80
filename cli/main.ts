/** The `wispr` command. Each command lives in `commands/`; this file alone sets the exit code. */
import { Command, CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { outliveOutputErrors } from './output-errors.ts';
import { adaptUsageErrors } from './usage-errors.ts';
import { EXIT, explain } from './voice.ts';

/** The commands, in the order in which the help shows them. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  init: async () => (await import('./commands/init.ts')).addInitCommand,
  check: async () => (await import('./commands/check.ts')).addCheckCommand,
  protect: async () => (await import('./commands/protect.ts')).addProtectCommand,
  publish: async () => (await import('./commands/publish.ts')).addPublishCommand,
  verify: async () => (await import('./commands/verify.ts')).addVerifyCommand,
  inspect: async () => (await import('./commands/inspect.ts')).addInspectCommand,
  keys: async () => (await import('./commands/keys.ts')).addKeysCommand,
  timestamp: async () => (await import('./commands/timestamp.ts')).addTimestampCommand,
  withdraw: async () => (await import('./commands/withdraw.ts')).addWithdrawCommand,
  keyserver: async () => (await import('./commands/keyserver.ts')).addKeyServerCommand,
  admin: async () => (await import('./commands/admin.ts')).addAdminCommand,
  invite: async () => (await import('./commands/invite.ts')).addInviteCommand,
  proxy: async () => (await import('./commands/proxy.ts')).addProxyCommand,
  bind: async () => (await import('./commands/bind.ts')).addBindCommand,
  identity: async () => (await import('./commands/identity.ts')).addIdentityCommand,
  'cache-config': async () => (await import('./commands/cache-config.ts')).addCacheConfigCommand,
};

/** Only the command that is asked for is loaded: all of them together take twice the time to start, and 20 MiB more. */
function namedIn(words: readonly string[]): readonly string[] {
  const [first = ''] = words;
  return Object.hasOwn(COMMANDS, first) ? [first] : Object.keys(COMMANDS);
}

async function createProgram(words: readonly string[]): Promise<Command> {
  const program = new Command('wispr')
    .description('encrypted publishing over caches that nobody has to trust')
    .version(packageJson.version, '-V, --version')
    .showSuggestionAfterError()
    .exitOverride();
  for (const name of namedIn(words)) (await COMMANDS[name]?.())?.(program);
  adaptUsageErrors(program);
  return program;
}

outliveOutputErrors();
try {
  const program = await createProgram(process.argv.slice(2));
  await program.parseAsync();
} catch (error) {
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? EXIT.good : EXIT.usage) : explain(error);
}
