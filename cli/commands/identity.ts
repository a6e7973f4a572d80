/** `wispr identity`: what this device is to its publishers, and how that is kept. */
import type { Command } from 'commander';
import { describeIdentity, lockReader, unlockReader } from '../../client-proxy/index.ts';
import type { CodedError } from '../../core/errors.ts';
import { utcMinute } from '../../node-support/clock.ts';
import { printable } from '../../node-support/printable.ts';
import { JSON_OPTION, type OutputFlags, QUIET_OPTION } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { readPassphrase } from '../io/passphrase.ts';
import { EXIT, explain, print, say, sayHint } from '../io/voice.ts';
import { isoDay, PROOF } from './describe.ts';
import { addForgetCommand } from './identity-forget.ts';
import { addProtectCommand } from './identity-protect.ts';
import { addRoamingCommands } from './identity-roaming.ts';
import { describeKeyLocation } from './key-location.ts';
import { addStorageOptions, type StorageFlags, storageOptions } from './reader-options.ts';

interface Flags extends StorageFlags, OutputFlags {}

export function addIdentityCommand(program: Command): void {
  const identity = program
    .command('identity')
    .summary('show, protect, lock, export or forget what this device is to its publishers')
    .description('what this device is to its publishers: a seed and bindings, and how they are kept');
  withFlags(
    identity.command('show', { isDefault: true }).description('show publishers, and how the keys are kept'),
  ).action(runShow);
  addProtectCommand(identity);
  addRoamingCommands(identity);
  withFlags(identity.command('lock').description('let the Reader that runs drop its keys until it is unlocked')).action(
    runLock,
  );
  withFlags(identity.command('unlock').description('let the Reader that runs have its keys again')).action(runUnlock);
  addForgetCommand(identity);
}

function withFlags(command: Command): Command {
  return addStorageOptions(command)
    .option(...QUIET_OPTION)
    .option(...JSON_OPTION);
}

async function runShow(flags: Flags): Promise<void> {
  const report = await describeIdentity(await storageOptions(flags));
  const { directory, keysIn, keyFile, keyProblem, publishers, roaming, whyNoKeyring } = report;
  if (keyProblem !== undefined) setExitCode(EXIT.failed);
  if (flags.json) {
    const shown = publishers.map(({ id: _, ...publisher }) => publisher);
    const kept = { directory, keysIn: keysIn ?? 'none', ...(keyProblem && { keyProblem: keyProblem.code }) };
    return print(JSON.stringify({ ...kept, publishers: shown, roaming: roaming ?? null }));
  }
  if (keysIn === undefined) {
    say(`there is no identity in ${directory} yet`);
    sayHint('wispr bind makes one; wispr identity import FILE brings one from another device');
    return;
  }
  print(`kept in        ${directory}`);
  print(`sealed with    ${describeKeyLocation(keysIn, keyFile, keyProblem)}`);
  if (keysIn !== 'keyring' && whyNoKeyring) print(`               no system keyring can be used: ${whyNoKeyring}`);
  for (const { name, publisher, keyServer, sites, proofs, bound } of publishers) {
    print(`publisher      ${printable(name)}, since ${isoDay(bound)}`);
    for (const site of sites) print(`  site         ${site}  (${PROOF[proofs[site] ?? 'trusted-by-hand']})`);
    print(`  key server   ${keyServer}`);
    print(`  fingerprint  ${publisher}`);
  }
  if (publishers.length === 0) print('publisher      none yet');
  print(`roaming file   ${roaming ? `number ${roaming.number}, of ${utcMinute(roaming.written)}` : 'none written'}`);
  if (keyProblem !== undefined) explainLost(keyProblem, roaming?.number);
  else if (!flags.quiet) sayHint('"wispr identity --help" lists what can be done with it');
}

/** @param roaming - number of the newest roaming file that may bring back what the key opened */
function explainLost(keyProblem: CodedError, roaming: number | undefined): void {
  explain(keyProblem);
  if (roaming !== undefined)
    sayHint(`the newest roaming file that this device knows of has number ${roaming}; its seven words open it`);
}

async function runLock(flags: Flags): Promise<void> {
  const locked = await lockReader(await storageOptions(flags));
  if (flags.json) return print(JSON.stringify({ reader: locked?.url ?? null }));
  if (flags.quiet) return;
  if (locked === undefined) return sayNoneRuns();
  say('locked: it has dropped its keys; what is being read is read to its end');
  say('memory that it has given back may hold copies until it is used again; ending the Reader ends that');
  const { keysIn } = locked;
  if (keysIn === 'passphrase') sayHint('"wispr identity unlock" asks for the passphrase');
  else if (keysIn !== undefined) {
    say(
      `anyone at this account can unlock it, because its key is in ${keysIn === 'keyring' ? 'the keyring' : 'a file'}`,
    );
    sayHint('"wispr identity protect passphrase" lets a passphrase be asked for');
  }
}

async function runUnlock(flags: Flags): Promise<void> {
  const unlocked = await unlockReader(await storageOptions(flags), () =>
    readPassphrase(flags.passphraseFile, 'passphrase of the reader'),
  );
  if (flags.json) return print(JSON.stringify({ reader: unlocked?.url ?? null }));
  if (flags.quiet) return;
  if (unlocked === undefined) return sayNoneRuns();
  say('unlocked');
}

function sayNoneRuns(): void {
  say('no Reader runs on this database, so there is nothing to lock or unlock');
}
