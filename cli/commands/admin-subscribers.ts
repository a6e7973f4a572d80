/** `wispr admin import FILE.csv`: a whole list of subscribers at once. */
import { rmSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readConfig } from '../../keyserver/config/config.ts';
import { knownOrigins } from '../../keyserver/publication/origins.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { type ImportOutcome, importSubscribers, ListRefused } from '../../keyserver/readers/import-subscribers.ts';
import { invitationLink, MAXIMUM_VALID_DAYS } from '../../keyserver/readers/invitations.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { csvField } from '../../keyserver/subscriptions/subscriber-export.ts';
import {
  LIST_COLUMNS,
  type ListColumn,
  type ListProblem,
  type ListReading,
  MAXIMUM_LIST_LENGTH,
} from '../../keyserver/subscriptions/subscriber-list.ts';
import { createFile } from '../../node-support/files/write-file.ts';
import { printable } from '../../node-support/printable.ts';
import { count, someOf } from '../../publisher/text.ts';
import { parseWholeNumber, readBounded } from '../io/arguments.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { showProgress } from '../io/progress.ts';
import { print, say, sayHint } from '../io/voice.ts';
import { createLinkFile, fileIsThere, writeLinks } from './link-file.ts';

export interface ListOptions extends AdminFlags {
  readonly dryRun?: boolean;
  readonly links?: string;
  /** Days. */
  readonly valid: number;
  readonly map?: ListReading['map'];
  readonly plan?: string;
  readonly dates?: ListReading['dates'];
  readonly endMissing?: boolean;
  readonly skipWrong?: boolean;
  readonly problems?: string;
  readonly yes?: boolean;
}

/** Lines that are named; the others are counted. */
const NAMED = 20;

export function addListOptions(command: Command): Command {
  return command
    .option('--dry-run', 'of a list: say what it would change, and change nothing')
    .addOption(
      new Option('--map <columns>', 'of a list: its names of columns, like name=email,until=expires').argParser(mapOf),
    )
    .option('--plan <name>', 'of a list: the plan of lines that name none')
    .addOption(new Option('--dates <order>', 'of a list: what 3/4/2026 is').choices(['dmy', 'mdy']))
    .option('--end-missing', 'of a list: end subscriptions to its plans that it does not name any more')
    .option('--skip-wrong', 'of a list: take the lines that are right, and leave out the others')
    .option('--problems <file>', 'of a list: write all wrong lines into this new file')
    .option('-y, --yes', 'with --end-missing: end even more than half of them')
    .option('--links <file>', 'of a list: write invitations for who is new into this new file')
    .option('--valid <days>', 'validity of these links', parseWholeNumber(MAXIMUM_VALID_DAYS), 30);
}

/** @throws ListRefused, having named the lines */
export async function importList(file: string, options: ListOptions): Promise<void> {
  const { json, dryRun, links, valid, map, plan, dates, skipWrong, problems } = options;
  const config = readConfig(options.config);
  const bytes = readBounded(file, MAXIMUM_LIST_LENGTH);
  const isDry = dryRun === true;
  const inviteFor = links === undefined ? undefined : valid;
  const isLinked = links !== undefined && !isDry;
  if (isLinked) createLinkFile(links);
  const progress = showProgress('importing', 'subscribers');
  try {
    const outcome = await withState(config, async (state) => {
      const onProgress = (done: number, total: number) => progress.update({ done, total });
      const keep = async ({ invitations }: ImportOutcome) => {
        const { reading } = await knownOrigins(state.database, config);
        const root = (await readProviderRow(state.database))?.root;
        const linked = invitations.map((each) => ({ ...each, link: invitationLink(each, reading, root) }));
        writeLinks(links ?? '', linked);
      };
      return importSubscribers(state, bytes, {
        ...(isLinked && { keep }),
        ...{ dryRun: isDry, inviteFor, onProgress, plan, dates, skipWrong: skipWrong === true },
        ...(map && { map }),
        ...(options.endMissing && { endMissing: options.yes ? 'any' : 'most-stay' }),
      });
    });
    progress.end();
    if (json) print(JSON.stringify({ ...outcome, invitations: outcome.invitations.length, dryRun: isDry }));
    else sayOutcome(outcome, isDry, links);
    if (outcome.problems.length > 0) sayProblems(outcome.problems, problems);
  } catch (error) {
    progress.end();
    if (isLinked) rmSync(links, { force: true });
    if (error instanceof ListRefused) sayProblems(error.problems, problems);
    throw error;
  }
}

function sayProblems(problems: readonly ListProblem[], file: string | undefined): void {
  if (file !== undefined) {
    const lines = problems.map(({ line, problem }) => `${line},${csvField(problem)}\n`);
    if (!createFile(file, `line,problem\n${lines.join('')}`)) throw fileIsThere(file);
    say(`${count(problems.length, 'wrong line')} written to ${file}`);
    return;
  }
  for (const { line, problem } of problems.slice(0, NAMED)) say(`line ${line}: ${problem}`);
  if (problems.length > NAMED)
    say(`and ${count(problems.length - NAMED, 'line')} more, which --problems FILE writes down`);
}

function sayOutcome(outcome: ImportOutcome, dryRun: boolean, links?: string): void {
  const { created, begun, moved, unchanged, ended, renamed, revoked, ignored, invitations } = outcome;
  const changes = `${begun} begun, ${moved} with another end, ${unchanged} unchanged, ${ended.length} ended`;
  if (ignored.length > 0) say(`ignored columns: ${someOf(ignored.map(printable), ', ')}`);
  say(`${dryRun ? 'it would make' : 'made'} ${count(created, 'new subscriber')}; subscriptions: ${changes}`);
  if (ended.length > 0) say(`${dryRun ? 'it would end' : 'ended'}: ${someOf(ended, ', ')}`);
  if (renamed.length > 0) say(`not ended, because they were renamed here: ${someOf(renamed, ', ')}`);
  if (revoked.length > 0) say(`passed over, because they were revoked: ${someOf(revoked, ', ', NAMED)}`);
  if (dryRun) say('nothing was changed');
  else if (links !== undefined)
    say(`${count(invitations.length, 'link')} written to ${links}: keep it secret, and delete it`);
  else if (created > 0) sayHint('"wispr admin invite --state new" mails the links, or writes them into a file');
}

/** Columns as they are typed: `name=email,plan=tiers`. */
function mapOf(text: string): NonNullable<ListReading['map']> {
  const pairs = text.split(',').map((pair) => pair.split('='));
  const isColumn = (name: string | undefined) => LIST_COLUMNS.includes(name as ListColumn);
  if (pairs.some((pair) => pair.length !== 2 || !isColumn(pair[0]?.trim())))
    throw new InvalidArgumentError(`it is like name=email,plan=tiers; there are ${LIST_COLUMNS.join(', ')}`);
  return Object.fromEntries(pairs.map(([column = '', name]) => [column.trim(), name]));
}
