/** The `wispr` command. Each command lives in `commands/`; this file and single.ts alone set the exit code of what failed. */
import { type CommandTable, runCommandLine } from './run.ts';

/** The commands, in the order in which the help shows them. */
const COMMANDS: CommandTable = {
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
  fetch: async () => (await import('./commands/fetch.ts')).addFetchCommand,
  sync: async () => (await import('./commands/sync.ts')).addSyncCommand,
  identity: async () => (await import('./commands/identity.ts')).addIdentityCommand,
  'cache-config': async () => (await import('./commands/cache-config.ts')).addCacheConfigCommand,
};

const exitCode = await runCommandLine(COMMANDS);
if (exitCode !== undefined) process.exitCode = exitCode;
