import type { CommandTable } from '../run.ts';

/** The commands, in the order in which the help shows them. */
export const COMMANDS: CommandTable = {
  init: async () => (await import('./init.ts')).addInitCommand,
  serve: async () => (await import('./serve.ts')).addServeCommand,
  check: async () => (await import('./check.ts')).addCheckCommand,
  protect: async () => (await import('./protect.ts')).addProtectCommand,
  publish: async () => (await import('./publish.ts')).addPublishCommand,
  verify: async () => (await import('./verify.ts')).addVerifyCommand,
  inspect: async () => (await import('./inspect.ts')).addInspectCommand,
  keys: async () => (await import('./keys.ts')).addKeysCommand,
  timestamp: async () => (await import('./timestamp.ts')).addTimestampCommand,
  rollback: async () => (await import('./rollback.ts')).addRollbackCommand,
  withdraw: async () => (await import('./withdraw.ts')).addWithdrawCommand,
  keyserver: async () => (await import('./keyserver.ts')).addKeyServerCommand,
  admin: async () => (await import('./admin.ts')).addAdminCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
  invite: async () => (await import('./invite.ts')).addInviteCommand,
  proxy: async () => (await import('./proxy.ts')).addProxyCommand,
  bind: async () => (await import('./bind.ts')).addBindCommand,
  fetch: async () => (await import('./fetch.ts')).addFetchCommand,
  sync: async () => (await import('./sync.ts')).addSyncCommand,
  identity: async () => (await import('./identity.ts')).addIdentityCommand,
  'cache-config': async () => (await import('./cache-config.ts')).addCacheConfigCommand,
  demo: async () => (await import('./demo.ts')).addDemoCommand,
  licenses: async () => (await import('./licenses.ts')).addLicensesCommand,
  link: async () => (await import('./link.ts')).addLinkCommand,
};
