/** Parts that `wispr protect` and `wispr publish` share: going on with `--watch`, and documents that are gone. */
import { printable } from '../../node-support/printable.ts';
import { PublishError } from '../../publisher/errors.ts';
import type { ProtectOptions } from '../../publisher/protect/protect.ts';
import { Unsettled } from '../../publisher/protect/watch.ts';
import { count, someOf } from '../../publisher/text.ts';
import { askYesOrNo, canAsk } from '../io/terminal.ts';
import { explain, say, UsageError } from '../io/voice.ts';

export const ALLOW_REMOVAL_OPTION = [
  '--allow-removal',
  'go on although many documents are gone from the site, in place of a question',
] as const;

export interface RemovalFlags {
  readonly allowRemoval?: boolean;
  readonly watch?: boolean;
  readonly quiet?: boolean;
}

/**
 * Decides about documents that are gone.
 *
 * @param endProgress - clears the line of a question
 * @param isSettled - with `--watch`: whether the site has been left alone for long enough
 */
export function removalCheck(
  { allowRemoval, watch, quiet }: RemovalFlags,
  endProgress: () => void,
  isSettled: () => boolean = () => true,
): NonNullable<ProtectOptions['onRemoval']> {
  return async ({ documents, removed, paths, isLarge }) => {
    const gone = `${removed.toLocaleString('en')} of ${count(documents, 'document')} are gone from the site`;
    if (!isSettled()) {
      if (!quiet) say(`${gone}: waiting until nothing has changed for a while`);
      throw new Unsettled();
    }
    if (!isLarge || allowRemoval) return;
    const what = `${gone}: ${someOf(paths.map(printable), ', ', removed)}`;
    if (watch || !canAsk())
      throw new PublishError('removal-unconfirmed', `${what}; nothing was changed`, { fields: { documents, removed } });
    endProgress();
    if (!(await askYesOrNo(`${what}; remove them for readers?`))) throw new UsageError('nothing was changed');
  };
}

/** Reports an error while the site is being edited: it may be gone after the next change. @returns whether there was none */
export async function tryAgain(
  work: () => Promise<void>,
  { quiet }: { readonly quiet?: boolean | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    if (error instanceof Unsettled) throw error;
    explain(error);
    if (!quiet) say('still watching: the next change is tried again');
    return false;
  }
}
