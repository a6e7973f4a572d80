/** `wispr invite` on a site without a key server: docs/serverless.md. */
import { nowInSeconds } from '../../node-support/clock.ts';
import { type Invited, invite, removeInvitation } from '../../publisher/serverless/invitations.ts';
import { dayArgument } from '../io/arguments.ts';
import { readNewPassphrase, readPassphrase } from '../io/passphrase.ts';
import { canAsk } from '../io/terminal.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { isoDay } from './describe.ts';
import type { InviteFlags } from './invite-subscriber.ts';

/** @param configurationFile - `wispr.json` */
export async function inviteByKeyFiles(
  names: readonly string[],
  configurationFile: string,
  flags: InviteFlags,
): Promise<void> {
  const { sets, until, password, remove, passphraseFile, json } = flags;
  checkTogether(flags);
  const end = until === undefined ? undefined : dayArgument(until).end - 1;
  if (end !== undefined && end < nowInSeconds()) throw new UsageError(`${until} is over`);
  if (password && !canAsk())
    throw new UsageError('--password asks for a password on a terminal, and there is none', 'run it on a terminal');
  const passphrase = await readPassphrase(passphraseFile);
  for (const name of names) {
    const about = { name, configurationFile, passphrase };
    if (remove) {
      reportRemoved(await removeInvitation(about), json);
      continue;
    }
    const invited = await invite({
      ...{ ...about, sets: sets?.split(','), until: end },
      password: password ? await askPassword(name) : undefined,
    });
    if (json) print(JSON.stringify(invited));
    else report(invited, names.length > 1);
  }
  if (!remove && !json) sayNext(names.length, password);
}

function sayNext(links: number, password = false): void {
  const [it, link] = links > 1 ? ['them', 'these links'] : ['it', 'this link'];
  const way = password ? ', and tell the password by another way' : `: anyone who has ${it} can read`;
  say(`send ${link} after the next "wispr publish"${way}`);
}

function checkTogether(flags: InviteFlags): void {
  const foreign = (['plan', 'from', 'for', 'valid'] as const).find((each) => flags[each] !== undefined);
  if (foreign)
    throw new UsageError(`--${foreign} is for a key server`, 'without one, invitations end with --until DATE');
  const { remove, password, sets, until } = flags;
  const other = [password && '--password', sets && '--sets', until && '--until'].find(Boolean);
  if (remove && other) throw new UsageError(`--remove and ${other} do not go together`);
}

/** Asks twice for a password: it is in no argument or file. */
async function askPassword(name: string): Promise<string> {
  say('anyone who has the link can try passwords on their own computer: choose a long one');
  return readNewPassphrase(undefined, `a password for ${name}`);
}

/** @param named - whether the name goes before the link, with a tab between them */
function report({ name, created, link, sets, until, unmatched }: Invited, named: boolean): void {
  const which = sets.join(',') === '*' ? 'everything' : `the sets ${sets.join(', ')}`;
  const end = until === undefined ? '' : ` until ${isoDay(until)}`;
  say(`${name} ${created ? 'is invited' : 'was invited already, and now'} to read ${which}${end}`);
  if (unmatched.length > 0) say(`no set matches ${unmatched.join(', ')} yet`);
  print(named ? `${name}\t${link}` : link);
}

function reportRemoved({ name, ends }: { readonly name: string; readonly ends: number }, json = false): void {
  if (json) print(JSON.stringify({ removed: name, ends }));
  say(
    `${name} is not invited any more, from the next "wispr publish" on: their keys end on ${isoDay(ends)} at the latest; until then they read what they could read; documents in new sets never`,
  );
  sayHint('`wispr publish --rekey SET` gives what is in a set a new key now');
}
