/** Plots as SVG, written by the server: lines over time, with their axes. Colours are those of the style sheet. */
import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';

export interface PlotLine {
  /** Class in the style sheet. */
  readonly kind: 'given' | 'refused' | 'signed-in';
  readonly label: string;
  /** Values, one for each time of the plot. */
  readonly values: readonly number[];
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 220, 44, 12, 12, 26];

/** @param times - beginnings of days or hours, in seconds since 1970 @param title - for those who do not see it */
export function plot(times: readonly number[], lines: readonly PlotLine[], title: string): string {
  const x = scaleUtc([new Date((times[0] ?? 0) * 1000), new Date((times.at(-1) ?? 1) * 1000)], [LEFT, WIDTH - RIGHT]);
  const y = scaleLinear([0, Math.max(4, ...lines.flatMap(({ values }) => values))], [HEIGHT - BOTTOM, TOP]).nice(4);
  const at = (_value: number, index: number) => x((times[index] ?? 0) * 1000);
  const text = x.tickFormat(4, (times[1] ?? 0) - (times[0] ?? 0) < 86_400 ? '%d %b %H:%M' : '%d %b');
  const grid = y
    .ticks(4)
    .map(
      (tick) =>
        `<path class="grid" d="M${LEFT} ${round(y(tick))}H${WIDTH - RIGHT}"/><text x="${LEFT - 6}" y="${round(y(tick) + 4)}" text-anchor="end">${tick.toLocaleString('en-GB')}</text>`,
    );
  const days = x
    .ticks(4)
    .map((tick) => `<text x="${round(x(tick))}" y="${HEIGHT - 6}" text-anchor="middle">${text(tick)}</text>`);
  const drawn = lines.map(({ kind, values }) => {
    const path =
      line<number>()
        .x(at)
        .y((value) => y(value))(values) ?? '';
    const filled =
      kind === 'given'
        ? `<path class="area ${kind}" d="${
            area<number>()
              .x(at)
              .y0(y(0))
              .y1((value) => y(value))(values) ?? ''
          }"/>`
        : '';
    return `${filled}<path class="line ${kind}" d="${path}"/>`;
  });
  return `<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">${[...grid, ...days, ...drawn].join('')}</svg>`;
}

const round = (n: number) => Math.round(n * 10) / 10;
