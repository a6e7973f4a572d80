/** `--dry-run` of the commands that protect. */
import { planSite } from '../../publisher/protect/dry-run.ts';
import { showProtecting } from '../io/progress.ts';
import { print } from '../io/voice.ts';
import { describeDryRun } from './protection-summary.ts';

/** Paths of each kind that are shown to people. */
const SHOWN_PATHS = 10;

/** Prints what protecting would do, and does nothing. */
export async function sayWhatWouldBeDone(
  what: Parameters<typeof planSite>[0],
  { json, quiet }: { readonly json?: boolean; readonly quiet?: boolean },
): Promise<void> {
  const progress = showProtecting(quiet, 'looking');
  const limit = json ? undefined : SHOWN_PATHS;
  const summary = await planSite({ ...what, ...progress.shown }, limit).finally(progress.end);
  print(json ? JSON.stringify(summary) : describeDryRun(summary));
}
