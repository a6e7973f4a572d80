/** The `wispr` of the single file for readers: their commands. `npm run build:single` makes it. */
import { outliveOutputErrors } from './io/voice.ts';
import { type CommandTable, runCommandLine } from './run.ts';
import { startFrugally } from './start-frugally.ts';

startFrugally();

const COMMANDS: CommandTable = {
  proxy: async () => (await import('./commands/proxy.ts')).addProxyCommand,
  bind: async () => (await import('./commands/bind.ts')).addBindCommand,
  fetch: async () => (await import('./commands/fetch.ts')).addFetchCommand,
  sync: async () => (await import('./commands/sync.ts')).addSyncCommand,
  identity: async () => (await import('./commands/identity.ts')).addIdentityCommand,
  explain: async () => (await import('./commands/explain.ts')).addExplainCommand,
  licenses: async () => (await import('./commands/licenses.ts')).addLicensesCommand,
};

const ABOUT = `This file is for readers. Publishing, the key server and the configuration of
caches are not in it; they are in the repository.`;

outliveOutputErrors();
process.exitCode = await runCommandLine(COMMANDS, {}, ABOUT);
