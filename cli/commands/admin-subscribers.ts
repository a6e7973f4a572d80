/** `wispr admin import FILE.csv`: a whole list of subscribers at once. */
import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { readConfig } from '../../keyserver/config/config.ts';
import { KeyServerError } from '../../keyserver/errors.ts';
import { knownOrigins } from '../../keyserver/publication/origins.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { type ImportOutcome, importSubscribers, ListRefused } from '../../keyserver/readers/import-subscribers.ts';
import { invitationLink, MAXIMUM_VALID_DAYS } from '../../keyserver/readers/invitations.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { MAXIMUM_LIST_LENGTH } from '../../keyserver/subscriptions/subscriber-list.ts';
import { describeUnreadable, systemCode } from '../../node-support/system-error.ts';
import { count, someOf } from '../../publisher/text.ts';
import { readBounded } from '../io/bounded-file.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { showProgress } from '../io/progress.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';

export interface ListOptions extends AdminFlags {
  readonly dryRun?: boolean;
  readonly links?: string;
  readonly valid: string;
}

/** Lines that are named; the others are counted. */
const NAMED = 20;

export function addListOptions(command: Command): Command {
  return command
    .option('--dry-run', 'of a list: say what it would change, and change nothing')
    .option('--links <file>', 'of a list: write invitations for who is new into this new file')
    .option('--valid <days>', 'validity of these links', '30');
}

/** @throws ListRefused, having named the lines */
export async function importList(
  file: string,
  { config: configFile, json, dryRun, links, valid }: ListOptions,
): Promise<void> {
  const config = readConfig(configFile);
  const bytes = readBounded(file, MAXIMUM_LIST_LENGTH);
  const isDry = dryRun === true;
  const inviteFor = links === undefined ? undefined : daysOf(valid);
  // Before anything is imported: a link that cannot be written would be lost.
  const linkFile = links === undefined || isDry ? undefined : createLinkFile(links);
  const progress = showProgress('importing', 'subscribers');
  try {
    const outcome = await withState(config, async (state) => {
      const onProgress = (done: number, total: number) => progress.update({ done, total });
      const done = await importSubscribers(state, bytes, { dryRun: isDry, inviteFor, onProgress });
      const { keyServer } = await knownOrigins(state.database, config);
      const root = (await readProviderRow(state.database))?.root;
      if (linkFile !== undefined) writeLinks(linkFile, done, (code) => invitationLink({ code }, keyServer, root));
      return done;
    });
    progress.end();
    if (json) print(JSON.stringify({ ...outcome, invitations: outcome.invitations.length, dryRun: isDry }));
    else sayOutcome(outcome, isDry, links);
  } catch (error) {
    progress.end();
    if (links !== undefined && linkFile !== undefined) rmSync(links, { force: true });
    if (error instanceof ListRefused) sayProblems(error);
    throw error;
  } finally {
    if (linkFile !== undefined) closeSync(linkFile);
  }
}

function sayProblems({ problems }: ListRefused): void {
  for (const { line, problem } of problems.slice(0, NAMED)) say(`line ${line}: ${problem}`);
  if (problems.length > NAMED) say(`and ${count(problems.length - NAMED, 'line')} more`);
}

function sayOutcome(outcome: ImportOutcome, dryRun: boolean, links?: string): void {
  const { created, begun, moved, unchanged, revoked, invitations } = outcome;
  const changes = `${begun} begun, ${moved} with another end, ${unchanged} unchanged`;
  say(`${dryRun ? 'it would make' : 'made'} ${count(created, 'new subscriber')}; subscriptions: ${changes}`);
  if (revoked.length > 0) say(`passed over, because they were revoked: ${someOf(revoked, ', ', NAMED)}`);
  if (dryRun) say('nothing was changed');
  else if (links !== undefined)
    say(`${count(invitations.length, 'link')} written to ${links}: keep it secret, and delete it`);
  else if (created > 0)
    sayHint('"wispr invite NAME --plan PLAN" makes the link for one of them; --links FILE does for all');
}

/** @returns a descriptor of the new file. @throws UsageError where there is one; KeyServerError `argument-invalid` */
function createLinkFile(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (cause) {
    if (systemCode(cause) === 'EEXIST')
      throw new UsageError(`${file} is there already: name a new file for the links`, 'what is in it stays good');
    throw new KeyServerError('argument-invalid', describeUnreadable(file, cause), { cause });
  }
}

/** Their secrets stand in it. */
function writeLinks(file: number, { invitations }: ImportOutcome, linkOf: (code: string) => string): void {
  const lines = invitations.map(({ name, code }) => `"${name}",${linkOf(code)}\n`);
  writeFileSync(file, `name,link\n${lines.join('')}`);
  fsyncSync(file);
}

function daysOf(text: string): number {
  if (/^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= MAXIMUM_VALID_DAYS) return Number(text);
  throw new UsageError(`--valid takes 1 to ${MAXIMUM_VALID_DAYS} days`);
}
