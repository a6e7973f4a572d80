/** Progress on standard error: a bar on a terminal, now and then a line elsewhere. */
import type cliProgress from 'cli-progress';
import type { Progress } from '../../publisher/protect/phases.ts';
import { currentIo } from './context.ts';
import { say } from './voice.ts';

export interface ProgressState {
  readonly done: number;
  /** `undefined` while it is unknown. */
  readonly total: number | undefined;
  /** Name of what is being done, if it is not that of the whole. */
  readonly doing?: string;
}

export interface ProgressDisplay {
  update: (progress: ProgressState) => void;
  end: () => void;
}

/** Library of seventeen modules: loaded only where a bar can be drawn. */
const library = process.stderr.isTTY ? (await import('cli-progress')).default : undefined;

/** Milliseconds between two lines, at the least, where no bar can be drawn. */
const MILLISECONDS_BETWEEN_LINES = 10_000;

const NOTHING: ProgressDisplay = { update: () => undefined, end: () => undefined };

/** Shows `protecting [====    ] 1200/3000 documents, 450/s, 4s left`; nothing where `quiet`. */
export function showProgress(doing: string, what: string, quiet = false): ProgressDisplay {
  if (quiet) return NOTHING;
  return library && currentIo().stderr === process.stderr ? showBar(library, doing, what) : showLines(doing, what);
}

/** Shows a time that is waited for, where a bar can be drawn. */
export function showWaiting(): ProgressDisplay {
  return library && currentIo().stderr === process.stderr ? showBar(library, 'waiting', 'seconds') : NOTHING;
}

export function showProtecting(
  quiet = false,
  doing: 'looking' | 'protecting' = 'protecting',
): { readonly onProgress: (state: Progress) => void; readonly end: () => void } {
  const { update, end } = showProgress(doing, 'documents', quiet);
  const nameOf = (stage: Progress['stage']) => (stage === 'looking' ? 'looking' : 'protecting');
  return { onProgress: ({ stage, done, total }) => update({ done, total, doing: nameOf(stage) }), end };
}

function showLines(doing: string, what: string): ProgressDisplay {
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

function showBar({ Format, Presets, SingleBar }: typeof cliProgress, doing: string, what: string): ProgressDisplay {
  const counting = `wispr: {doing}: {value} ${what}`;
  const whole = `wispr: {doing} {bar} {value}/{total} ${what}{rate}{eta_formatted}`;
  const options: cliProgress.Options = {
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    etaBuffer: 100,
    // The library gives `NULL` or `INF` instead of seconds while the time is unknown.
    formatTime: (seconds, ...rest) => (Number.isFinite(seconds) ? `, ${Format.TimeFormat(seconds, ...rest)} left` : ''),
  };
  let bar: { shown: cliProgress.SingleBar; state: ProgressState; started: number } | undefined;
  const begin = (state: ProgressState) => {
    bar?.shown.stop();
    const format = state.total === undefined ? counting : whole;
    const shown = new SingleBar({ ...options, format }, Presets.rect);
    shown.start(state.total ?? 0, 0, { doing: state.doing ?? doing, rate: '' });
    return { shown, state, started: performance.now() };
  };
  return {
    update: (state) => {
      if (state.total === 0) return; // draws nothing if nothing is to do
      if (bar?.state.doing !== state.doing || bar?.state.total !== state.total) bar = begin(state);
      const seconds = bar && (performance.now() - bar.started) / 1000;
      bar?.shown.update(state.done, { rate: rateOf(state.done, seconds ?? 0) });
    },
    end: () => bar?.shown.stop(),
  };
}

/** Leaves out the rate in the first second: until then it says more about the start than about the work. */
function rateOf(done: number, seconds: number): string {
  return seconds < 1 ? '' : `, ${Math.round(done / seconds).toLocaleString('en')}/s`;
}
