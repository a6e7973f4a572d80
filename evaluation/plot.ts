/** Plots as SVG: bars in groups, by d3-scale. */
import { scaleBand, scaleLinear, scaleLog } from 'd3-scale';

const [WIDTH, HEIGHT] = [860, 380];
const EDGE = { top: 36, right: 16, bottom: 66, left: 70 };
const MOST_ON_A_LINE = 8;
const COLOURS = ['#8a8f98', '#c98a1b', '#7b5ea7', '#0b5d66', '#3aa6a0', '#a3301d', '#e0876f'];

interface Series {
  readonly name: string;
  readonly values: readonly number[];
}

interface About {
  readonly title: string;
  readonly unit: string;
  readonly series: readonly Series[];
  readonly logarithmic?: boolean;
}

/** Bars in groups, such as a group for each link and a bar for each way of reading. */
export function bars(about: About & { readonly groups: readonly string[] }): string {
  const { groups, series } = about;
  const y = vertical(about);
  const x = scaleBand(groups, [EDGE.left, WIDTH - EDGE.right])
    .paddingInner(0.2)
    .paddingOuter(0.1);
  const inner = scaleBand(
    series.map(({ name }) => name),
    [0, x.bandwidth()],
  ).paddingInner(0.08);
  const bottom = HEIGHT - EDGE.bottom;
  const drawn = series.flatMap(({ name, values }, index) =>
    groups.map((group, place) => {
      const value = values[place] ?? Number.NaN;
      const left = (x(group) ?? 0) + (inner(name) ?? 0);
      const top = y(value);
      return `<rect x="${fixed(left)}" y="${fixed(top)}" width="${fixed(inner.bandwidth())}" height="${fixed(bottom - top)}" fill="${COLOURS[index]}"/>`;
    }),
  );
  // Names of many groups have no room beside each other.
  const lower = groups.length > MOST_ON_A_LINE ? 14 : 0;
  const names = groups.map((group, place) =>
    label(group, (x(group) ?? 0) + x.bandwidth() / 2, bottom + 16 + (place % 2) * lower, 'middle'),
  );
  return framed(about, y, [...drawn, ...names]);
}

type Vertical = ReturnType<typeof scaleLinear<number>> | ReturnType<typeof scaleLog<number>>;

function vertical({ series, logarithmic }: About): Vertical {
  const values = series.flatMap((each) => each.values);
  const range = [HEIGHT - EDGE.bottom, EDGE.top];
  if (!logarithmic) return scaleLinear([0, Math.max(...values)], range).nice(6);
  const least = Math.min(...values.filter((value) => value > 0));
  return scaleLog([least / 2, Math.max(...values)], range).nice();
}

function framed({ title, unit, series }: About, y: Vertical, drawn: readonly string[]): string {
  const grid = y
    .ticks(6)
    .filter(isShown(y))
    .map(
      (tick) =>
        `<line x1="${EDGE.left}" x2="${WIDTH - EDGE.right}" y1="${fixed(y(tick))}" y2="${fixed(y(tick))}" stroke="#ddd"/>${label(short(tick), EDGE.left - 8, y(tick) + 4, 'end')}`,
    );
  const share = (WIDTH - EDGE.right) / series.length;
  const legend = series.map(({ name }, index) => {
    const left = EDGE.right + index * share;
    return `<rect x="${fixed(left)}" y="${HEIGHT - 20}" width="12" height="12" fill="${COLOURS[index]}"/>${label(name, left + 17, HEIGHT - 10, 'start')}`;
  });
  const heading = `${label(title, EDGE.left, 18, 'start', 'font-weight="600" font-size="14"')}${label(unit, EDGE.left - 8, 18, 'end')}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img"><title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fff"/>
${[heading, ...grid, ...drawn, ...legend].filter((each) => each !== '').join('\n')}
</svg>
`;
}

/** Selects ticks: a logarithmic axis has room for powers of ten alone. */
function isShown(y: Vertical): (tick: number) => boolean {
  return 'base' in y ? (tick) => Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-9 : () => true;
}

function label(text: string, x: number, y: number, anchor: string, more = ''): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" fill="#222" ${more}>${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function short(value: number): string {
  return new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value);
}
