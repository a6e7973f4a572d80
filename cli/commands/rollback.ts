import type { Command } from 'commander';
import { type RollbackPlan, rollBack } from '../../publisher/publish/rollback.ts';
import { count, someOf } from '../../publisher/text.ts';
import { hasKeyServer } from '../../publisher/workspace/configuration/schema.ts';
import { YES_OPTION } from '../io/common-options.ts';
import { confirm } from '../io/terminal.ts';
import { print, say, sayHint } from '../io/voice.ts';
import { describePublishing, warnAboutAbsent, warnAboutRest } from './publish-summary.ts';
import { addSiteFlags, onSite, type SiteFlags } from './timestamp.ts';
import { parseVersion } from './withdraw.ts';

interface Flags extends SiteFlags {
  readonly yes?: boolean;
}

export function addRollbackCommand(program: Command): void {
  addSiteFlags(program.command('rollback'))
    .summary('publish the documents of an earlier publication again')
    .description(
      'make a new publication with the documents of an earlier one, as long as these are kept; redirects, headers and sections stay as they are. The next "wispr publish" publishes the source again',
    )
    .argument('[version]', 'the earlier publication (default: the previous one that was sent)', parseVersion)
    .option(...YES_OPTION)
    .action(rollback);
}

async function rollback(version: number | undefined, flags: Flags): Promise<void> {
  const { yes = false, json, quiet } = flags;
  const { plan, summary, isWithKeyServer } = await onSite(flags, async (site) => {
    const rolled = await rollBack(site, version, (plan) => confirmPlan(plan, yes, quiet));
    return { ...rolled, isWithKeyServer: hasKeyServer(site.configuration) };
  });
  if (json) print(JSON.stringify({ ...summary, ...plan }));
  else if (!quiet) print(describePublishing(summary, isWithKeyServer));
  warnAboutRest(summary, `\`wispr rollback ${plan.to}\``);
  warnAboutAbsent(summary, `\`wispr rollback ${plan.to}\``);
  if (!quiet) sayHint('the next `wispr publish` publishes the source again: correct it first');
}

async function confirmPlan(
  { from, to, added, removed, changed }: RollbackPlan,
  yes: boolean,
  quiet = false,
): Promise<void> {
  if (!quiet) {
    say(`publication ${from} will be replaced by the documents of publication ${to}:`);
    for (const [what, paths] of Object.entries({ added, removed, changed }))
      if (paths.length > 0) say(`  ${count(paths.length, 'document')} ${what}: ${someOf(paths, ', ', paths.length)}`);
    if (added.length + removed.length + changed.length === 0) say('  no document differs');
  }
  if (!yes) await confirm('roll back?', 'a rollback', 'not rolled back; nothing was changed');
}
