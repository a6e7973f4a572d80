/** `wispr identity forget`: a publisher, or everything. */
import type { Command } from 'commander';
import {
  type ConnectedPublisher,
  type Forgotten,
  type ForgottenAll,
  findPublisher,
  forgetEverything,
  forgetPublisher,
} from '../../client-proxy/index.ts';
import { printable } from '../../node-support/printable.ts';
import { JSON_OPTION, type OutputFlags, QUIET_OPTION, YES_OPTION } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { confirm } from '../io/terminal.ts';
import { EXIT, print, say, sayHint, UsageError } from '../io/voice.ts';
import { addStorageOptions, type StorageFlags, storageOptions } from './reader-options.ts';

interface Flags extends StorageFlags, OutputFlags {
  readonly everything?: boolean;
  readonly yes?: boolean;
}

export function addForgetCommand(identity: Command): void {
  addStorageOptions(
    identity
      .command('forget')
      .description('remove a publisher from this device, or everything')
      .argument('[publisher]', 'one of its sites, its fingerprint, or its key server'),
  )
    .option('--everything', 'every publisher, the seed, and the database itself')
    .option(...YES_OPTION)
    .option(...QUIET_OPTION)
    .option(...JSON_OPTION)
    .action(run);
}

async function run(named: string | undefined, flags: Flags): Promise<void> {
  if ((named === undefined) === (flags.everything === undefined))
    throw new UsageError('name a publisher, or say --everything', '"wispr identity" lists the publishers');
  return named === undefined ? runEverything(flags) : runPublisher(named, flags);
}

async function runPublisher(named: string, flags: Flags): Promise<void> {
  const options = await storageOptions(flags);
  const publisher = await findPublisher(options, named);
  const { name, sites, setKeys, keyServer } = publisher;
  const who = withItsSites(publisher);
  await confirmForgetting(`forget ${who}?`, flags);
  const { overwritten, cacheDirectory, cacheForgotten, hasRoamed } = await forgetPublisher(options, publisher);
  const read = { cacheDirectory, cacheForgotten };
  if (!read.cacheForgotten) setExitCode(EXIT.failed);
  if (flags.json) return print(JSON.stringify({ forgotten: [{ name, sites, keyServer }], overwritten, ...read }));
  if (flags.quiet) return;
  say(`forgotten: ${who}`);
  const keys = setKeys === 1 ? '1 key of a set' : `${setKeys} keys of sets`;
  say(`removed: the key of this device with ${keyServer}, ${keys}, and what was kept of the publications`);
  sayWhatWasRead(read);
  sayWhatStays({ overwritten, hasRoamed });
}

async function runEverything(flags: Flags): Promise<void> {
  const options = await storageOptions(flags);
  await confirmForgetting('forget every publisher, and the seed of this device?', flags);
  const all = await forgetEverything(options);
  if (!all.cacheForgotten) setExitCode(EXIT.failed);
  if (flags.json) return print(JSON.stringify(inJson(all)));
  if (!flags.quiet) reportAll(all);
}

function inJson(all: ForgottenAll) {
  const { publishers, overwritten, cacheDirectory, cacheForgotten, isRunning, keyDiscarded } = all;
  const forgotten = publishers.map(({ name, sites, keyServer }) => ({ name, sites, keyServer }));
  const { keyFileLeft = null } = all;
  return { forgotten, overwritten, cacheDirectory, cacheForgotten, isRunning, keyDiscarded, keyFileLeft };
}

function reportAll(all: ForgottenAll): void {
  const { publishers, wasEmpty, isRunning, directory, cacheForgotten, keyDiscarded, keyFileLeft } = all;
  for (const publisher of publishers) say(`forgotten: ${withItsSites(publisher)}`);
  if (wasEmpty) say('everything was forgotten before: there was no seed, and no key');
  else say('removed: the seed of this device, all keys, and what was kept of the publications');
  say(
    isRunning
      ? `left: the empty database in ${directory}, which the running Reader has open`
      : `removed: the database in ${directory}`,
  );
  if (!wasEmpty || !cacheForgotten) sayWhatWasRead(all);
  if (!keyDiscarded)
    say('left: the entry of wispr in the keyring, which could not be reached; it opens nothing any more');
  if (keyFileLeft !== undefined)
    say(`left: ${keyFileLeft}, which other databases may need; delete it if there are none`);
  if (!wasEmpty) sayWhatStays(all);
}

/** Adds its sites, unless the only one is its name. */
function withItsSites({ name, sites }: Pick<ConnectedPublisher, 'name' | 'sites'>): string {
  const others = sites.filter((site) => site !== name);
  return printable(name) + (others.length > 0 ? `, with ${others.join(', ')}` : '');
}

/** Documents that are encrypted cannot be opened without their keys; public ones lie there as they are. */
function sayWhatWasRead({
  cacheDirectory,
  cacheForgotten,
}: Pick<Forgotten, 'cacheDirectory' | 'cacheForgotten'>): void {
  if (cacheForgotten) {
    say(`removed: what was read, from ${cacheDirectory}`);
    return;
  }
  say(`left: what was read, in ${cacheDirectory}, which could not be removed: public documents can be read there`);
  sayHint('remove that folder yourself');
}

/** Says what no program can promise. */
function sayWhatStays({ overwritten, hasRoamed }: Pick<Forgotten, 'overwritten' | 'hasRoamed'>): void {
  if (overwritten)
    say(
      'what was removed from the database is overwritten in its files; disks, SSDs above all, may keep old blocks, and backups do',
    );
  else say('what was removed from the database could not be overwritten everywhere: the disk is full');
  const elsewhere = hasRoamed ? 'roaming files elsewhere still have it; ' : '';
  sayHint(`${elsewhere}ask the publisher to disconnect this device if it should end there too`);
}

async function confirmForgetting(question: string, { yes }: Flags): Promise<void> {
  if (!yes) await confirm(question, 'forgetting', 'given up; nothing was changed', 'add --yes if you mean it');
}
