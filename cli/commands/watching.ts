/** What `--watch` of `wispr protect` and `wispr publish` share. */
import { explain, say } from '../io/voice.ts';

/** While the site is being edited, an error may be gone after the next change. */
export async function tryAgain(
  work: () => Promise<void>,
  { quiet }: { readonly quiet?: boolean | undefined },
  signal: AbortSignal,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (signal.aborted) return;
    explain(error);
    if (!quiet) say('still watching: the next change is tried again');
  }
}
