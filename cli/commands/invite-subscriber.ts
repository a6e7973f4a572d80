/** `wispr invite` on a key server: a one-time link, for any browser and for the Reader. */
import { DEFAULT_CONFIG_FILE, type KeyServerConfig, readConfig } from '../../keyserver/config/config.ts';
import { noteBounces } from '../../keyserver/mail/bounces.ts';
import { mailInvitation } from '../../keyserver/mail/invitation.ts';
import { createMailer } from '../../keyserver/mail/mailer.ts';
import type { Origins } from '../../keyserver/publication/import-bundle.ts';
import { knownOrigins } from '../../keyserver/publication/origins.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import {
  type Invitation,
  type InvitationRequest,
  invitationLink,
  inviteSubscriber,
  withdrawInvitations,
} from '../../keyserver/readers/invitations.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { findPlan } from '../../keyserver/subscriptions/plans.ts';
import { count } from '../../publisher/text.ts';
import { dayArgument } from '../io/arguments.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { describeGrant, describeHeldPlan, isoDay } from './describe.ts';

/** @throws UsageError for what only a site without a key server knows */
export async function inviteSubscribersTo(names: readonly string[], flags: InviteFlags): Promise<void> {
  if (flags.password) throw new UsageError('on a key server, readers choose their passwords themselves');
  const config = readConfig(flags.config ?? DEFAULT_CONFIG_FILE);
  if (flags.remove) return withdrawOpen(config, names, flags.json === true);
  checkTogether(flags);
  if (flags.link && !flags.mail) throw new UsageError('--link goes with --mail');
  await withState(config, async (state) => {
    const origins = await knownOrigins(state.database, config);
    const provider = await readProviderRow(state.database);
    const unmatched = new Set<string>();
    for (const name of names) {
      const request = await requestOf(config, state, name, flags);
      const make = () => inviteSubscriber(state, request);
      const invitation = flags.mail ? await inviteByMail({ state, origins, config }, name, make) : await make();
      const isShown = !flags.mail || flags.link === true;
      const link = isShown ? invitationLink(invitation, origins.reading, provider?.root) : undefined;
      if (flags.json) print(JSON.stringify(asJson(invitation, link)));
      else sayInvitation(invitation, link, names.length > 1);
      for (const pattern of invitation.unmatched) unmatched.add(pattern);
    }
    if (!flags.json && (!flags.mail || flags.link)) sayHint('links open in any browser, and offer the Reader too');
    if (!provider) sayNoPublisher();
    else if (unmatched.size > 0) sayUnmatched([...unmatched]);
  });
}

/** Withdraws open invitations. Subscribers who have used one keep their access. */
async function withdrawOpen(config: KeyServerConfig, names: readonly string[], json: boolean): Promise<void> {
  await withState(config, async (state) => {
    for (const name of names) {
      const taken = await withdrawInvitations(state, name);
      if (json) print(JSON.stringify({ subscriber: name, invitations: taken }));
      else say(`${count(taken, 'open invitation')} of ${name} ${taken === 1 ? 'is' : 'are'} taken back`);
    }
  });
  if (!json) sayHint('who has used one reads on; `wispr admin revoke NAME` takes access away');
}

interface Inviting {
  readonly state: KeyServerState;
  readonly origins: Origins;
  readonly config: KeyServerConfig;
}

/** @throws KeyServerError `mail-failed`, `argument-invalid` */
async function inviteByMail({ state, origins, config }: Inviting, name: string, make: () => Promise<Invitation>) {
  if (!config.mail) throw new UsageError('this key server sends no mail', 'set "mail" in its configuration');
  const mailer = createMailer(config.mail, { readingSite: origins.reading, note: noteBounces(state.database) });
  try {
    return await mailInvitation({ state, mailer, origins }, name.trim(), make);
  } finally {
    await mailer.close();
  }
}

/** Days are those of the plan's time zone. Where the publisher's own system says who may read what, nothing is granted here. */
async function requestOf(
  { entitlement }: KeyServerConfig,
  state: KeyServerState,
  name: string,
  flags: InviteFlags,
): Promise<InvitationRequest> {
  const { sets, plan, from, until, for: days, valid, seats } = flags;
  const zone = (plan === undefined ? undefined : (await findPlan(state.database, plan))?.zone) ?? 'UTC';
  const end = days === undefined ? undefined : state.now() + days * 86_400;
  return {
    name,
    sets: sets?.split(',') ?? (entitlement && plan === undefined ? [] : undefined),
    plan,
    from: from === undefined ? undefined : dayArgument(from, zone).start,
    until: until === undefined ? end : dayArgument(until, zone).end - 1,
    seats: seats === undefined ? undefined : Number(seats),
    validDays: valid === undefined ? undefined : Number(valid),
  };
}

function checkTogether({ sets, plan, from, until, for: days }: InviteFlags): void {
  if (sets !== undefined && plan !== undefined) throw new UsageError('--sets and --plan do not go together');
  if (until !== undefined && days !== undefined) throw new UsageError('--until and --for do not go together');
  if (from !== undefined && plan === undefined) throw new UsageError('--from needs --plan');
}

/** @param named - whether the name goes before the link, with a tab between them */
function sayInvitation(invitation: Invitation, link: string | undefined, named: boolean): void {
  const { subscriber, created, grants, subscriptions, kept, seats, expires } = invitation;
  const who = created ? 'is a new subscriber' : 'was a subscriber already, and may read in all';
  const rights = [...subscriptions.map(describeHeldPlan), ...grants.map(describeGrant)];
  say(`${subscriber} ${who}: ${rights.join(', ') || 'nothing that is noted here'}`);
  if (kept.length > 0) {
    say(`nothing was taken away; granted before: ${kept.map(describeGrant).join(', ')}`);
    sayHint('"wispr admin revoke NAME" takes everything away; with --sets after that, those sets only are granted');
  }
  if (seats) say(`${seats.taken} of ${seats.seats} seats are taken; a link that was made before works no more`);
  const works = `works ${seats ? 'for each free seat' : 'once'}, until ${isoDay(expires)}`;
  if (link === undefined) {
    say(`the invitation was mailed; its link ${works}`);
    return;
  }
  say(`send this link; it ${works}`);
  print(named ? `${subscriber}\t${link}` : link);
}

/** The link is good as it is: the bundle has to name these origins, or it is refused. */
function sayNoPublisher(): void {
  say('there is no publisher here yet: the link leads to nothing until its key bundle is imported');
  sayHint('"wispr admin import FILE", with the bundle that "wispr protect" makes; this link works from then on');
}

/** Sets may come later, so this is no error. */
function sayUnmatched(patterns: readonly string[]): void {
  say(`no set matches ${patterns.join(', ')} yet`);
  sayHint('`wispr admin list` shows the sets that there are');
}

/** @param link - `undefined`: it was mailed, and not asked for */
function asJson({ code, ...invitation }: Invitation, link: string | undefined) {
  const { subscriber, created, grants, subscriptions, kept, seats, expires } = invitation;
  const shown = link === undefined ? { mailed: true } : { code, link };
  return { subscriber, created, grants, subscriptions, kept, seats, expires, ...shown };
}

export interface InviteFlags {
  readonly config?: string;
  readonly sets?: string;
  readonly plan?: string;
  readonly from?: string;
  readonly until?: string;
  readonly for?: number;
  readonly valid?: string;
  readonly seats?: string;
  readonly mail?: boolean;
  readonly link?: boolean;
  readonly password?: boolean;
  readonly remove?: boolean;
  readonly passphraseFile?: string;
  readonly json?: boolean;
}
