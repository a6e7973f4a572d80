/** `wispr keys`: the keys that sign a site, and who else may sign for it. */
import { relative } from 'node:path';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { TopLevelRole } from '../../core/publication/metadata.ts';
import {
  addSigner,
  finishDraft,
  type KeysOptions,
  type RootOutcome,
  removeSigner,
  renewRoot,
  rotatePublisherKey,
  rotateRole,
} from '../../publisher/keys/change-roots.ts';
import {
  addSectionSigner,
  removeSectionSigner,
  rotateSection,
  type SectionOutcome,
} from '../../publisher/keys/change-sections.ts';
import { changePassphrase } from '../../publisher/keys/create-keys.ts';
import { describeMissing } from '../../publisher/keys/root-draft.ts';
import { describeChanges, shortId, TOP_LEVEL_ROLES } from '../../publisher/keys/roots.ts';
import { readSigner } from '../../publisher/keys/signing-keys.ts';
import { listKeys, SECTION_PREFIX } from '../../publisher/publication/list-keys.ts';
import { count } from '../../publisher/text.ts';
import { readConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { locateConfiguration, parseNumber } from '../io/arguments.ts';
import { JSON_OPTION, PASSPHRASE_OPTION, SITE_OPTION, share } from '../io/common-options.ts';
import { readNewPassphrase, readPassphrase } from '../io/passphrase.ts';
import { print, say, sayHint } from '../io/voice.ts';
import { describeKeys, warnAboutKeys } from './key-listing.ts';
import { publish } from './publish.ts';
import { addSignerCommands } from './signer.ts';

interface Flags {
  readonly config?: string;
  readonly rootKeys?: string;
  readonly passphraseFile?: string;
  readonly json?: boolean;
  readonly threshold?: number;
  readonly publish?: boolean;
}

export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .summary('list, rotate and renew the keys of a site, and let others sign for it')
    .description('the keys that sign a site: what they are, when they end, and who else may sign');
  withFlags(
    keys
      .command('list', { isDefault: true })
      .description('show every role and set, where its key is, when it ends, and who is invited'),
  )
    .option('--public', 'what everybody can see in the output: needs no passphrase')
    .action(list);
  withFlags(keys.command('rotate').description('give a role a new key; "publisher" is the key that signs objects'))
    .addArgument(roleArgument(['publisher']))
    .option('--publish', 'then publish, so that readers and the key server have it at once')
    .action(rotate);
  withFlags(keys.command('renew').description('sign the root again, before it expires')).action(renew);
  withThreshold(withFlags(keys.command('add').description("let another person's key sign for a role too")))
    .addArgument(roleArgument())
    .argument('<public-key-file>', 'FILE.pub, which the signer made with "wispr keys new-signer FILE"')
    .action(add);
  withThreshold(withFlags(keys.command('remove').description('take a key from a role')))
    .addArgument(roleArgument())
    .argument('<key-id>', 'its id, or the first eight characters of it')
    .action(remove);
  withFlags(keys.command('finish').description('activate a root after others have signed it'))
    .argument('<files...>', 'root.N.json, or copies of it with signatures')
    .action(finish);
  withFlags(keys.command('passphrase').description('change the passphrase of publisher.keys and root.keys'))
    .option('--new-passphrase-file <file>', 'take the new passphrase from a file')
    .action(passphrase);
  addSignerCommands(keys);
}

function withFlags(command: Command): Command {
  return share(command, 'Common options of "wispr keys":', (shared) =>
    shared
      .option(...SITE_OPTION)
      .option('--root-keys <file>', 'where root.keys is, if not beside wispr.json')
      .option(...PASSPHRASE_OPTION)
      .option(...JSON_OPTION),
  );
}

function withThreshold(command: Command): Command {
  const description = 'how many of the keys have to sign; above one for root, targets and sections';
  const parseThreshold = parseNumber(/^[1-9]\d?$/, 'a threshold is a number from 1 to 99');
  return command.addOption(new Option('--threshold <number>', description).argParser(parseThreshold));
}

function roleArgument(more: readonly string[] = []): Argument {
  const roles: string[] = [...TOP_LEVEL_ROLES, ...more];
  return new Argument('<role>', `${roles.join(', ')}, or section:NAME`).argParser((text: string) => {
    if (roles.includes(text) || sectionIn(text) !== undefined) return text;
    throw new InvalidArgumentError(`a role is one of ${roles.join(', ')}, or section:NAME`);
  });
}

/** The name of the section that is meant; `undefined` for another role. */
function sectionIn(role: string): string | undefined {
  return role.startsWith(SECTION_PREFIX) ? role.slice(SECTION_PREFIX.length) : undefined;
}

async function list(flags: Flags & { readonly public?: boolean }): Promise<void> {
  const configurationFile = locateConfiguration(undefined, flags.config);
  const passphrase = flags.public ? undefined : await readPassphrase(flags.passphraseFile);
  const listing = await listKeys(configurationFile, passphrase, flags.rootKeys);
  print(flags.json ? JSON.stringify(listing) : describeKeys(listing));
  warnAboutKeys(listing);
}

async function rotate(role: TopLevelRole | 'publisher', flags: Flags): Promise<void> {
  const options = await keysOptions(flags);
  const isDone = await rotateKey(role, options, flags);
  if (flags.publish && isDone) await publish(undefined, { ...flags, protect: true }, options.passphrase);
}

/** @returns whether it is done: others may have to sign */
async function rotateKey(role: TopLevelRole | 'publisher', options: KeysOptions, flags: Flags): Promise<boolean> {
  const section = sectionIn(role);
  if (section !== undefined) reportSection(await rotateSection(options, section), flags);
  else if (role === 'publisher') await rotatePublisher(options, flags);
  else {
    const { outcome, ...rest } = await rotateRole(options, role);
    report({ outcome, ...rest }, flags);
    if (outcome === 'changed' && !flags.publish) await sayAfterRotation(role, options.configurationFile);
    return outcome !== 'draft';
  }
  return true;
}

async function rotatePublisher(options: KeysOptions, { json }: Flags): Promise<void> {
  const { before, after } = await rotatePublisherKey(options);
  if (json) print(JSON.stringify({ outcome: 'changed', before, publisherKey: after }));
  else print(`The publisher key is ${after} now (before: ${before}).`);
  say('every object is signed again at the next "wispr publish": all of the site is written and uploaded again');
  say('readers follow by themselves; your fingerprint stays as it is');
  sayHint(
    `tell the operator of your key server, who runs: wispr admin import keys.bundle --new-publisher-key ${after}`,
  );
  sayHint('replace your backup of publisher.keys');
}

async function renew(flags: Flags): Promise<void> {
  report(await renewRoot(await keysOptions(flags)), flags);
}

async function add(role: TopLevelRole, file: string, flags: Flags): Promise<void> {
  const publicKey = await readSigner(file);
  const section = sectionIn(role);
  if (section !== undefined)
    return reportSection(await addSectionSigner(await keysOptions(flags), section, publicKey, flags.threshold), flags);
  report(await addSigner(await keysOptions(flags), role, publicKey, flags.threshold), flags);
}

async function remove(role: TopLevelRole, keyid: string, flags: Flags): Promise<void> {
  const section = sectionIn(role);
  if (section !== undefined)
    return reportSection(await removeSectionSigner(await keysOptions(flags), section, keyid, flags.threshold), flags);
  report(await removeSigner(await keysOptions(flags), role, keyid, flags.threshold), flags);
}

async function passphrase(flags: Flags & { readonly newPassphraseFile?: string }): Promise<void> {
  const options = await keysOptions(flags);
  const after = await readNewPassphrase(flags.newPassphraseFile, 'the new passphrase', '--new-passphrase-file');
  const files = await changePassphrase(options, after);
  if (flags.json) print(JSON.stringify({ files }));
  else print(`The passphrase of ${files.map((file) => relative('.', file)).join(' and ')} is another one now.`);
  say('earlier copies still open under the old passphrase, and hold the same keys');
  sayHint('replace your backups; if the old passphrase and a copy may be in other hands, "wispr keys rotate" the keys');
}

async function finish(files: readonly string[], flags: Flags): Promise<void> {
  report(await finishDraft(await keysOptions(flags), files), flags);
}

function reportSection(outcome: SectionOutcome, { json }: Flags): void {
  if (json) {
    print(JSON.stringify(outcome));
    return;
  }
  const { section, keyids, threshold, own } = outcome;
  print(`The section ${section} is signed by ${threshold} of ${count(keyids.length, 'key')}:
${keyids.map((keyid) => `  ${shortId(keyid)}  ${keyid === own ? 'publisher.keys' : 'elsewhere'}`).join('\n')}`);
  say('readers learn of it with the next "wispr publish", or "wispr protect" where you copy the output yourself');
  sayHint(
    own === undefined
      ? 'that one needs the key file of its editors: --key FILE'
      : 'replace your backup of publisher.keys',
  );
}

function report(outcome: RootOutcome, { json }: Flags): void {
  if (json) print(JSON.stringify(outcomeAsJson(outcome)));
  else reportOutcome(outcome);
}

async function keysOptions({ config, rootKeys, passphraseFile }: Flags): Promise<KeysOptions> {
  const configurationFile = locateConfiguration(undefined, config);
  const passphrase = await readPassphrase(passphraseFile);
  return { configurationFile, passphrase, ...(rootKeys !== undefined && { rootKeys }) };
}

function reportOutcome(outcome: RootOutcome): void {
  const { version, before, after, missing } = outcome;
  const file = outcome.file === undefined ? undefined : relative('.', outcome.file);
  const head = file === undefined ? `Root ${version} is signed:` : `Root ${version} is made, and lies in ${file}:`;
  print([head, ...describeChanges(before, after).map((line) => `  ${line}`)].join('\n'));
  if (file === undefined) sayWhenItCounts();
  else sayWhoSigns(file, describeMissing(missing));
}

function sayWhenItCounts(): void {
  say(
    'readers learn of it with the next "wispr publish", or "wispr protect" where you copy the output yourself, and follow by themselves',
  );
  sayHint('replace your backups of publisher.keys and root.keys');
}

function sayWhoSigns(file: string, missing: string): void {
  say(`it needs ${missing}; until then nothing changes`);
  sayHint(`each signer runs "wispr keys sign ${file} --key THEIR-KEY-FILE"; then run "wispr keys finish ${file}" here`);
}

async function sayAfterRotation(role: TopLevelRole, configurationFile: string): Promise<void> {
  if (role === 'root')
    sayHint('destroy the copies of the old root.keys that you keep elsewhere, once the new one is there');
  if (role !== 'timestamp') return;
  const { timestampBy, keyServerTokenFile } = await readConfiguration(configurationFile);
  sayHint(
    timestampBy === 'publisher'
      ? `after the next "wispr publish", export the new key for the machine that signs: "wispr keys export timestamp FILE"`
      : keyServerTokenFile !== undefined
        ? `the next "wispr publish" hands the new key to your key server, by "keyServerTokenFile"`
        : `the next keys.bundle carries the new key: let your key server import it within 48 hours of the next "wispr publish"`,
  );
}

function outcomeAsJson({ outcome, rootId, version, after, file, missing }: RootOutcome): unknown {
  return { outcome, rootId, version, expires: after.expires, file, missing };
}
