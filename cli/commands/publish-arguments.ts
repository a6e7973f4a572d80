/** Options of `wispr publish` that say what is published, and when. */
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { PublishTargets } from '../../publisher/publish/targets.ts';
import { isAtOrBelow } from '../../publisher/site/walk.ts';
import { currentIo } from '../io/context.ts';
import { UsageError } from '../io/voice.ts';
import type { SignerFlags } from './signers.ts';
import type { SiteFlags } from './timestamp.ts';
import type { RemovalFlags } from './watching.ts';

export interface PublishFlags extends SiteFlags, SignerFlags, RemovalFlags {
  readonly protect: boolean;
  readonly dryRun?: boolean;
  readonly rekey?: readonly string[];
  readonly merged?: boolean;
  readonly restored?: boolean;
  readonly yes?: boolean;
  readonly checkAll?: boolean;
  readonly only?: readonly string[];
  readonly at?: number;
}

/** Options each of which excludes the others of its line. */
const APART: readonly (readonly (keyof PublishFlags)[])[] = [
  ['watch', 'dryRun'],
  ['watch', 'at'],
  ['dryRun', 'at'],
  ['only', 'dryRun'],
  ['only', 'watch'],
  ['only', 'rekey'],
  ['only', 'restored'],
  ['only', 'merged'],
  ['only', 'checkAll'],
];
const WITH_PROTECTING = ['watch', 'key', 'dryRun', 'restored', 'rekey', 'only'] as const;

/** @throws UsageError */
export function checkTogether(flags: PublishFlags): void {
  const called = (flag: string) => `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const refuse = (one: string, other: string) => new UsageError(`${one} and ${other} do not go together`);
  for (const [one = 'only', other = 'only'] of APART)
    if (flags[one] && flags[other]) throw refuse(called(one), called(other));
  const protecting = WITH_PROTECTING.find((flag) => flags[flag]);
  if (!flags.protect && protecting) throw refuse('--no-protect', called(protecting));
}

/** Paths of documents, from paths of files as a shell completes them. @throws UsageError */
export function documentsOf(files: readonly string[], { workspace, configuration }: PublishTargets): string[] {
  const source = resolve(workspace.directory, configuration.source);
  const documents = files.map((file) => {
    const path = relative(source, resolve(currentIo().cwd, file));
    if (path.split(sep)[0] === '..' || isAbsolute(path)) throw new UsageError(`${file} is not in the site, ${source}`);
    return path === '' ? '' : `/${path.split(sep).join('/')}`;
  });
  return documents.filter(
    (one, index) =>
      !documents.some((other, at) => at !== index && isAtOrBelow(one, other) && (one !== other || at < index)),
  );
}

/** Seconds that are waited at most: signatures and the machine's clock are for nearer times. */
const MOST_WAITING = 7 * 86_400;

/** Seconds since 1970 of a time of day, the next that comes, or of a date with a time; by this machine's clock where no zone is named. */
export function parseTime(text: string): number {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  const now = new Date();
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate(), Number(hour), Number(minute));
  if (hour !== undefined && today <= now) today.setDate(today.getDate() + 1);
  const isDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?$/.test(text);
  const seconds = (hour !== undefined ? today.getTime() : isDate ? Date.parse(text) : Number.NaN) / 1000;
  if (Number.isNaN(seconds))
    throw new InvalidArgumentError('it takes a time such as 05:00, or 2026-12-24T05:00, perhaps with Z or +01:00');
  const left = seconds - now.getTime() / 1000;
  if (left <= 0) throw new InvalidArgumentError('it is past');
  if (left > MOST_WAITING) throw new InvalidArgumentError('it is more than a week from now');
  return seconds;
}
