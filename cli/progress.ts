/** Progress on standard error: a bar on a terminal, now and then a line elsewhere. */
import progressBars, { Presets, SingleBar } from 'cli-progress'; // its `Format` can be had through the whole only
import type { Progress } from '../publisher/protect/prepare.ts';
import { say } from './voice.ts';

/** How far something is. */
export interface ProgressState {
  readonly done: number;
  /** `undefined` while nobody knows. */
  readonly total: number | undefined;
  /** What is being done, if it is not what the whole is called. */
  readonly doing?: string;
}

export interface ShownProgress {
  update: (progress: ProgressState) => void;
  end: () => void;
}

/** Where no bar can be drawn, a line is written no more often than this. */
const MILLISECONDS_BETWEEN_LINES = 10_000;

/** Shows `protecting [====    ] 1200/3000 documents, 450/s, 4s left`. */
export function showProgress(doing: string, what: string): ShownProgress {
  return process.stderr.isTTY ? showBar(doing, what) : showLines(doing, what);
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

function showBar(doing: string, what: string): ShownProgress {
  const counting = `wispr: {doing}: {value} ${what}`;
  const whole = `wispr: {doing} {bar} {value}/{total} ${what}{rate}{eta_formatted}`;
  const options = {
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    etaBuffer: 100,
    formatTime: describeLeft,
  };
  let bar: { bar: SingleBar; state: ProgressState; started: number } | undefined;
  const begin = (state: ProgressState) => {
    bar?.bar.stop();
    const format = state.total === undefined ? counting : whole;
    const shown = new SingleBar({ ...options, format }, Presets.rect);
    shown.start(state.total ?? 0, 0, { doing: state.doing ?? doing, rate: '' });
    bar = { bar: shown, state, started: performance.now() };
    return bar;
  };
  return {
    update: (state) => {
      const same = bar && bar.state.doing === state.doing && bar.state.total === state.total;
      const current = same && bar ? bar : begin(state);
      const seconds = (performance.now() - current.started) / 1000;
      current.bar.update(state.done, { rate: describeRate(state.done, seconds) });
    },
    end: () => bar?.bar.stop(),
  };
}

/** Nothing in the first second: until then a rate says more about the start than about the work. */
export function describeRate(done: number, seconds: number): string {
  return seconds < 1 ? '' : `, ${Math.round(done / seconds).toLocaleString('en')}/s`;
}

/** Nothing while nobody knows: then the library says `NULL` or `INF` instead of seconds. */
export const describeLeft: typeof progressBars.Format.TimeFormat = (seconds, options, roundTo) =>
  Number.isFinite(seconds) ? `, ${progressBars.Format.TimeFormat(seconds, options, roundTo)} left` : '';

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
