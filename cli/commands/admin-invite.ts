/** `wispr admin invite`: links for everybody who never came, in a file or by mail. */
import { type Command, Option } from 'commander';
import { type KeyServerConfig, readConfig } from '../../keyserver/config/config.ts';
import { noteBounces } from '../../keyserver/mail/bounces.ts';
import { createMailer } from '../../keyserver/mail/mailer.ts';
import {
  MAILING_STATES,
  type Mailed,
  type Mailing,
  type MailingWish,
  mailInvitations,
  makeInvitations,
  planMailing,
} from '../../keyserver/mail/mailing.ts';
import { knownOrigins } from '../../keyserver/publication/origins.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { invitationLink, MAXIMUM_VALID_DAYS } from '../../keyserver/readers/invitations.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { findPlan, noPlan } from '../../keyserver/subscriptions/plans.ts';
import { count } from '../../publisher/text.ts';
import { parseWholeNumber } from '../io/arguments.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { showProgress } from '../io/progress.ts';
import { untilSignal } from '../io/signals.ts';
import { EXIT, print, say, sayHint, UsageError } from '../io/voice.ts';
import { createLinkFile } from './link-file.ts';

const DAY = 86_400;
const MAXIMUM_RATE = 100;

interface InviteFlags extends AdminFlags {
  readonly state: MailingWish['state'];
  readonly plan?: string;
  readonly links?: string;
  readonly mail?: boolean;
  readonly rate: number;
  /** Days. */
  readonly valid: number;
  readonly dryRun?: boolean;
}

export function addAdminInviteCommand(command: Command): void {
  command
    .addOption(
      new Option('--state <state>', 'new: nobody has told them yet; invited: also those who have a link, or had one')
        .choices(MAILING_STATES)
        .makeOptionMandatory(),
    )
    .option('--plan <name>', 'subscribers of this plan only')
    .option('--links <file>', 'write the links into this new file, as CSV')
    .option('--mail', 'mail them, to each person once a day at most; the same command goes on after a stop')
    .option('--rate <number>', 'mails a second', parseWholeNumber(MAXIMUM_RATE), 5)
    .option('--valid <days>', 'validity of the links', parseWholeNumber(MAXIMUM_VALID_DAYS), 30)
    .option('--dry-run', 'say how many there are, and do nothing')
    .action(run);
}

async function run(flags: InviteFlags): Promise<void> {
  const { links, mail = false, plan, rate, valid, dryRun, json } = flags;
  if ((links === undefined) !== mail) throw new UsageError('name either --links FILE or --mail');
  const config = readConfig(flags.config);
  const wish = { state: flags.state, plan };
  await withState(config, async (state) => {
    if (plan !== undefined && !(await findPlan(state.database, plan))) throw noPlan(plan);
    const mailing = await planMailing(state, wish, mail);
    if (!json) sayLeftOut(mailing);
    const total = mailing.due.length;
    if (dryRun) return report(mailing, { invited: 0 }, `${people(total)} would get an invitation`, json);
    const expires = state.now() + valid * DAY;
    if (mail) return reportMailed(mailing, await mailAll({ config, state, wish, rate, expires }, mailing), json);
    await writeAll(config, state, { wish, expires, file: links ?? '' }, mailing);
    report(
      mailing,
      { invited: total },
      `${count(total, 'link')} written to ${links}: keep it secret, and delete it`,
      json,
    );
  });
}

interface MailRun {
  readonly config: KeyServerConfig;
  readonly state: KeyServerState;
  readonly wish: MailingWish;
  readonly rate: number;
  readonly expires: number;
}

async function mailAll({ config, state, wish, rate, expires }: MailRun, { due }: Mailing): Promise<Mailed> {
  if (!config.mail) throw new UsageError('this key server sends no mail', 'set "mail" in its configuration');
  const origins = await knownOrigins(state.database, config);
  const mailer = createMailer(config.mail, { readingSite: origins.reading, note: noteBounces(state.database) });
  const progress = showProgress('mailing', 'invitations');
  const { connections } = config.mail;
  try {
    return await untilSignal((signal) =>
      mailInvitations({ state, mailer, origins }, wish, due, expires, {
        ...{ rate, connections, signal },
        onProgress: (done, total) => progress.update({ done, total }),
      }),
    );
  } finally {
    progress.end();
    await mailer.close();
  }
}

interface FileRun {
  readonly wish: MailingWish;
  readonly expires: number;
  readonly file: string;
}

async function writeAll(
  config: KeyServerConfig,
  state: KeyServerState,
  { wish, expires, file }: FileRun,
  { due }: Mailing,
): Promise<void> {
  const { reading } = await knownOrigins(state.database, config);
  const root = (await readProviderRow(state.database))?.root;
  await makeInvitations(state, wish, due, expires, (invited) => {
    createLinkFile(
      file,
      invited.map((each) => ({ ...each, expires, link: invitationLink(each, reading, root) })),
    );
  });
}

function reportMailed(mailing: Mailing, { failure, ...mailed }: Mailed, json: boolean | undefined): void {
  const { sent, refused, left } = mailed;
  const refusals = refused === 0 ? '' : `, ${count(refused, 'address', 'addresses')} refused by the mail server`;
  report(mailing, mailed, `mailed ${count(sent, 'invitation')}${refusals}; ${people(left)} left`, json);
  if (failure) say(`${failure.message} [${failure.code}]`);
  if (left === 0) return;
  setExitCode(EXIT.found);
  if (!json) sayHint('the same command goes on with those who are left');
}

function report({ due, ...leftOut }: Mailing, done: object, line: string, json: boolean | undefined): void {
  if (json) print(JSON.stringify({ ...done, due: due.length, ...leftOut }));
  else say(line);
}

function sayLeftOut({ unaddressed, bounced, unsubscribed, recent }: Mailing): void {
  for (const [number, why] of [
    [unaddressed, 'no mail address as a name: --links FILE has them too'],
    [bounced, 'an address that the mail server refused: "wispr admin list" shows what it said'],
    [unsubscribed, 'unsubscribed from such mail'],
    [recent, 'got one in the last day'],
  ] as const)
    if (number > 0) say(`${people(number)} left out: ${why}`);
}

function people(number: number): string {
  return count(number, 'person', 'people');
}
