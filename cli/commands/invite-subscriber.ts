/** `wispr invite` on a key server: a one-time link, for any browser and for the Reader. */
import { DEFAULT_CONFIG_FILE, readConfig } from '../../keyserver/config.ts';
import { knownOrigins } from '../../keyserver/origins.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { type Invitation, invitationLink, inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { withState } from '../../keyserver/storage/state.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { describeGrant, isoDay } from './describe.ts';
import { endOfDay } from './end-of-day.ts';
import type { InviteFlags } from './invite.ts';

/** @throws UsageError for what only a site without a key server knows */
export async function inviteSubscriberTo(name: string, flags: InviteFlags): Promise<void> {
  if (flags.password) throw new UsageError('on a key server, readers choose their passwords themselves');
  if (flags.remove) throw new UsageError('on a key server, access is taken away', '"wispr admin revoke NAME"');
  const config = readConfig(flags.config ?? DEFAULT_CONFIG_FILE);
  const request = {
    name,
    sets: flags.sets?.split(','),
    until: flags.until === undefined ? undefined : endOfDay(flags.until),
    validDays: flags.valid === undefined ? undefined : Number(flags.valid),
  };
  await withState(config, async (state) => {
    const origins = await knownOrigins(state.database, config);
    const invitation = await inviteSubscriber(state, request);
    const provider = await readProviderRow(state.database);
    const link = invitationLink(invitation, origins.keyServer, provider?.root);
    if (flags.json) print(JSON.stringify({ ...asJson(invitation), link }));
    else sayInvitation(invitation, link);
    if (!provider) sayNoPublisher();
    else if (invitation.unmatched.length > 0) sayUnmatched(invitation.unmatched);
  });
}

function sayInvitation({ subscriber, created, grants, kept, expires }: Invitation, link: string): void {
  const who = created ? 'is a new subscriber' : 'was a subscriber already, and may read in all';
  say(`${subscriber} ${who}: ${grants.map(describeGrant).join(', ')}`);
  if (kept.length > 0) {
    say(`nothing was taken away; granted before: ${kept.map(describeGrant).join(', ')}`);
    sayHint('"wispr admin revoke NAME" takes everything away; with --sets after that, those sets only are granted');
  }
  say(`send this link; it works once, until ${isoDay(expires)}`);
  print(link);
  sayHint('it opens in any browser, and offers the Reader too; `wispr bind` asks for it');
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

function asJson({ subscriber, created, grants, kept, expires, code }: Invitation) {
  return { subscriber, created, grants, kept, expires, code };
}
