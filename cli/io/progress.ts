/** Progress on standard error: a bar on a terminal, now and then a line elsewhere. */
import type { Progress } from '../../publisher/protect/protect.ts';
import { currentIo } from './context.ts';
import { say } from './voice.ts';

/** How far something is. */
export interface ProgressState {
  readonly done: number;
  /** `undefined` while it is unknown. */
  readonly total: number | undefined;
  /** What is being done, if it is not what the whole is called. */
  readonly doing?: string;
}

export interface ShownProgress {
  update: (progress: ProgressState) => void;
  end: () => void;
}

/** What draws bars is seventeen modules: loaded only where one can be drawn. */
const bars = process.stderr.isTTY ? await import('./progress-bar.ts') : undefined;

/** Where no bar can be drawn, a line is written no more often than this. */
const MILLISECONDS_BETWEEN_LINES = 10_000;

/** Shows `protecting [====    ] 1200/3000 documents, 450/s, 4s left`. */
export function showProgress(doing: string, what: string): ShownProgress {
  return bars && currentIo().stderr === process.stderr ? bars.showBar(doing, what) : showLines(doing, what);
}

/** The same for protecting a site, as its functions want to be told; nothing is shown where `quiet`. */
export function showProtecting(
  quiet = false,
  doing: 'looking' | 'protecting' = 'protecting',
): { readonly shown: { onProgress?: (state: Progress) => void }; readonly end: () => void } {
  if (quiet) return { shown: {}, end: () => undefined };
  const { update, end } = showProgress(doing, 'documents');
  const onProgress = ({ stage, done, total }: Progress) =>
    update({ done, total, doing: stage === 'looking' ? 'looking' : 'protecting' });
  return { shown: { onProgress }, end };
}

function showLines(doing: string, what: string): ShownProgress {
  let last = performance.now();
  return {
    update: ({ done, total, doing: now = doing }) => {
      if (performance.now() - last < MILLISECONDS_BETWEEN_LINES) return;
      last = performance.now();
      say(`${now}: ${done}${total === undefined ? '' : ` of ${total}`} ${what}`);
    },
    end: () => undefined,
  };
}
