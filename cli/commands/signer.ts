/** The part of `wispr keys` that is for other machines: signers, and those that sign timestamps. */
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { Argument, type Command } from 'commander';
import { describeMissing, type RootDraft, readDraft, signDraftFile } from '../../publisher/keys/root-draft.ts';
import { describeChanges, shortId, signingId } from '../../publisher/keys/roots.ts';
import { createSigner, exportTimestampKey } from '../../publisher/keys/signing-keys.ts';
import { locateConfiguration } from '../io/arguments.ts';
import { JSON_OPTION, PASSPHRASE_OPTION, SITE_OPTION, YES_OPTION } from '../io/common-options.ts';
import { readNewPassphrase, readPassphrase } from '../io/passphrase.ts';
import { confirm } from '../io/terminal.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';

interface Flags {
  readonly config?: string;
  readonly key: string;
  readonly passphraseFile?: string;
  readonly newPassphraseFile?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function addSignerCommands(keys: Command): void {
  keys
    .command('new-signer')
    .description('make a key for another signer: FILE, which stays with them, and FILE.pub for the publisher')
    .argument('<file>', 'the key file to make')
    .option(...PASSPHRASE_OPTION)
    .option(...JSON_OPTION)
    .action(newSigner);
  keys
    .command('sign')
    .description('sign a root that needs your signature, after showing what it changes')
    .argument('<file>', 'root.N.json')
    .option('--key <file>', 'your key file', 'root.keys')
    .option(...PASSPHRASE_OPTION)
    .option(...YES_OPTION)
    .option(...JSON_OPTION)
    .action(sign);
  keys
    .command('export')
    .description('put the timestamp key into a file of its own, for a machine that confirms publications by cron')
    .addArgument(new Argument('<role>', 'which role').choices(['timestamp']))
    .argument('<file>', 'the key file to make')
    .option(...SITE_OPTION)
    .option(...PASSPHRASE_OPTION)
    .option('--new-passphrase-file <file>', 'take the passphrase of the new file from a file')
    .option(...JSON_OPTION)
    .action(exportKey);
}

async function newSigner(file: string, { passphraseFile, json }: Flags): Promise<void> {
  const passphrase = await readNewPassphrase(passphraseFile, 'a passphrase for the new key');
  const made = await createSigner(file, passphrase);
  if (json) return print(JSON.stringify(made));
  print(`${made.file}  SECRET: your key, encrypted under your passphrase. Keep it, and a copy elsewhere.
${made.publicFile}  hand this to the publisher; its key id is ${signingId(made.keyid)}`);
  sayHint(`the publisher runs "wispr keys add ROLE ${made.publicFile}"; read the key id to each other by another way`);
}

async function sign(file: string, { key, passphraseFile, yes, json }: Flags): Promise<void> {
  const draft = await readDraft(file);
  if (!existsSync(key)) throw new UsageError(`${key}: no such file`, 'name your key file: --key FILE');
  if (!json || !yes) introduce(draft);
  if (!yes) await confirm('sign this?', 'signing', 'not signed, and nothing was changed');
  const { keyids, missing } = await signDraftFile(file, draft, key, await readPassphrase(passphraseFile));
  if (json) return print(JSON.stringify({ file, signed: keyids, missing }));
  print(keyids.length > 0 ? `Signed by ${keyids.map(signingId).join(', ')}.` : 'Your signature was there already.');
  const rest = describeMissing(missing);
  say(rest === '' ? 'no signature is missing any more' : `it still needs ${rest}`);
  sayHint(`send ${file} back to the publisher, who runs "wispr keys finish"`);
}

function introduce({ rootId, before, after }: RootDraft): void {
  say(`the publisher ${rootId}`);
  say(`asks to replace root ${before.version} by root ${after.version}:`);
  for (const line of describeChanges(before, after)) say(`  ${line}`);
}

async function exportKey(_role: string, file: string, flags: Flags): Promise<void> {
  const configurationFile = locateConfiguration(undefined, flags.config);
  const passphrase = await readPassphrase(flags.passphraseFile);
  const newPassphrase = await readNewPassphrase(
    flags.newPassphraseFile,
    'a passphrase for the new file',
    '--new-passphrase-file',
  );
  const { keyid } = await exportTimestampKey(configurationFile, passphrase, file, newPassphrase);
  if (flags.json) return print(JSON.stringify({ file, keyid }));
  print(`${relative('.', file)}  SECRET: the timestamp key ${shortId(keyid)}, and nothing else.
Its holder can keep the current publication alive. It cannot publish or withdraw.`);
  sayHint(
    `on the other machine, hourly: wispr timestamp --key FILE --passphrase-file PASS --metadata DIR/.well-known/wispr -q`,
  );
}
