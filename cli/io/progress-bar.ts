/** Progress as a bar on a terminal. */
import progressBars, { Presets, SingleBar } from 'cli-progress'; // its `Format` can be had through the whole only
import type { ProgressState, ShownProgress } from './progress.ts';

export function showBar(doing: string, what: string): ShownProgress {
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

/** Nothing while it is unknown: then the library says `NULL` or `INF` instead of seconds. */
export const describeLeft: typeof progressBars.Format.TimeFormat = (seconds, options, roundTo) =>
  Number.isFinite(seconds) ? `, ${progressBars.Format.TimeFormat(seconds, options, roundTo)} left` : '';
