/** Progress on standard error: a bar on a terminal, now and then a line elsewhere. */
import { Presets, SingleBar } from 'cli-progress';
import { say } from './voice.ts';

export interface ShownProgress {
  update: (progress: { readonly done: number; readonly total: number }) => void;
  end: () => void;
}

/** Where no bar can be drawn, a line is written no more often than this. */
const MILLISECONDS_BETWEEN_LINES = 10_000;

/** Shows `protecting [====    ] 1200/3000 documents`. */
export function showProgress(doing: string, what: string): ShownProgress {
  return process.stderr.isTTY ? showBar(doing, what) : showLines(doing, what);
}

function showBar(doing: string, what: string): ShownProgress {
  const format = `wispr: ${doing} {bar} {value}/{total} ${what}, {eta_formatted} left`;
  const bar = new SingleBar({ format, stream: process.stderr, clearOnComplete: true, hideCursor: true }, Presets.rect);
  return {
    update: ({ done, total }) => {
      if (!bar.isActive) bar.start(total, 0);
      bar.update(done);
    },
    end: () => bar.stop(),
  };
}

function showLines(doing: string, what: string): ShownProgress {
  let last = performance.now();
  return {
    update: ({ done, total }) => {
      if (performance.now() - last < MILLISECONDS_BETWEEN_LINES) return;
      last = performance.now();
      say(`${doing}: ${done} of ${total} ${what}`);
    },
    end: () => undefined,
  };
}
