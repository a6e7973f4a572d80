import type { Command } from 'commander';
import { type Withdrawal, withdrawSite } from '../../publisher/publish/withdraw.ts';
import { parseNumber } from '../io/arguments.ts';
import { YES_OPTION } from '../io/common-options.ts';
import { confirm } from '../io/terminal.ts';
import { print, say, sayHint } from '../io/voice.ts';
import { describePlaces, warnAboutAbsent, warnAboutRest } from './publish-summary.ts';
import { addSiteFlags, onSite, type SiteFlags } from './timestamp.ts';

interface Flags extends SiteFlags {
  readonly yes?: boolean;
}

export const parseVersion = parseNumber(/^[1-9]\d{0,14}$/, 'a version is a whole number, like 7');

export function addWithdrawCommand(program: Command): void {
  addSiteFlags(program.command('withdraw'))
    .summary('show readers nothing of the site, until it is published again')
    .description(
      'make a closing publication: readers are shown nothing of the site until the next "wispr publish". After a mistake, "wispr rollback" shows them the previous publication instead',
    )
    .argument('[version]', 'only if this publication is the current one', parseVersion)
    .option(...YES_OPTION)
    .action(withdraw);
}

async function withdraw(version: number | undefined, flags: Flags): Promise<void> {
  const { yes = false, json, quiet } = flags;
  const { withdrawal, out } = await onSite(
    flags,
    async (site) => ({ withdrawal: await withdrawSite(site, version), out: site.out }),
    ({ configuration }) => confirmWithdrawal(configuration.site, yes),
  );
  if (json) print(JSON.stringify(withdrawal));
  else if (!quiet) describe(withdrawal, version, out);
  if (withdrawal.outcome === 'replaced') return;
  warnAboutRest(withdrawal, 'the same command');
  warnAboutAbsent(withdrawal, 'the same command');
}

/** Printed first, because it surprises: readers see no document at all. */
async function confirmWithdrawal(site: string, yes: boolean): Promise<void> {
  if (yes) return;
  say(`readers will be shown nothing of ${site} until the next "wispr publish"`);
  sayHint('after a mistake, `wispr rollback` shows them the previous publication instead');
  await confirm('withdraw?', 'withdrawing', 'not withdrawn; nothing was changed');
}

function describe(withdrawal: Withdrawal, version: number | undefined, out: string): void {
  const { outcome, publication } = withdrawal;
  if (outcome === 'replaced') {
    print(`Publication ${publication} has replaced ${version} already; nothing to withdraw.`);
    return;
  }
  const verb = outcome === 'withdrawn' ? 'is withdrawn' : 'was withdrawn already';
  print(`The site ${verb}: publication ${publication} shows readers nothing (${describePlaces(withdrawal, out)}).`);
  sayHint('correct the source, then `wispr publish`; or `wispr rollback`');
}
