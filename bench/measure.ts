/** Measuring side by side: what is compared runs alternately, several times, and medians are reported, because machines are noisy. */
import { startCommand } from '../tests/support/programs.ts';

/** A line of the table: a figure of ours beside a peer's, from the same run. */
export interface Row {
  readonly row: string;
  readonly value: number;
  readonly unit: string;
  readonly peer: string;
  readonly peerValue: number;
  /** value / peerValue. */
  readonly ratio: number;
  readonly runs: number;
  readonly bound: string;
}

export interface Contestant<Measured = number> {
  readonly name: string;
  readonly run: () => Promise<Measured>;
}

/** Runs the contestants in turn, `runs` times, every other time backwards: a machine that becomes slower favours none. @returns what each came to */
async function runInTurn<Measured>(contestants: readonly Contestant<Measured>[], runs: number): Promise<Measured[][]> {
  const found: Measured[][] = contestants.map(() => []);
  for (let run = 0; run < runs; run++) {
    const order = [...contestants.entries()];
    if (run % 2 === 1) order.reverse();
    for (const [index, contestant] of order) found[index]?.push(await contestant.run());
  }
  return found;
}

/** Measures the contestants in turn. @returns each one's median */
export async function measureAlternately(contestants: readonly Contestant[], runs: number): Promise<number[]> {
  return (await runInTurn(contestants, runs)).map(median);
}

/** The same for several figures of each run. */
export async function measureLoads<Measured extends { readonly [Name in keyof Measured]: number }>(
  contestants: readonly Contestant<Measured>[],
  runs: number,
): Promise<Record<keyof Measured, number>[]> {
  return (await runInTurn(contestants, runs)).map((figures) => mediansOf(figures));
}

export type About = Pick<Row, 'row' | 'unit' | 'runs' | 'bound'>;

/** Measures the contestants in turn. @returns rows of the first beside each of the others */
export async function sideBySide(about: About, contestants: readonly Contestant[]): Promise<Row[]> {
  const names = contestants.map(({ name }) => name);
  return compare(about, names, await measureAlternately(contestants, about.runs));
}

/** Rows of the first figure beside each of the others. */
export function compare(about: About, names: readonly string[], figures: readonly number[]): Row[] {
  const [value = Number.NaN, ...peers] = figures;
  return peers.map((peerValue, index) => ({
    ...about,
    value: round(value),
    peer: names[index + 1] ?? '',
    peerValue: round(peerValue),
    ratio: round(value / peerValue),
  }));
}

/** Seconds that a command takes. @throws Error with its output if it fails */
export async function timeCommand(command: string, args: readonly string[], cwd?: string): Promise<number> {
  const start = performance.now();
  await runCommand(command, args, cwd);
  return (performance.now() - start) / 1000;
}

/** Seconds of processors that a command takes, with all that it starts. @throws Error with its output if it fails */
export async function processorTimeOf(
  command: string,
  args: readonly string[],
  options?: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv },
): Promise<number> {
  const script = '"$@" > /dev/null || exit; times';
  const out = await runCommand('sh', ['-c', script, 'sh', command, ...args], options?.cwd, options?.env);
  const ofChildren = out.trim().split('\n').at(-1) ?? '';
  return [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, rest]) => sum + 60 * Number(minutes) + Number(rest),
    0,
  );
}

/** Runs a command to its end and returns what it printed. @throws Error with its output if it fails */
export async function runCommand(
  command: string,
  args: readonly string[],
  cwd?: string,
  env?: NodeJS.ProcessEnv,
): Promise<string> {
  const place = { ...(cwd !== undefined && { cwd }), ...(env && { env }) };
  const { code, stdout, stderr } = await startCommand([command, ...args], place).ended;
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr.slice(0, 2000)}`);
  return stdout;
}

/** Milliseconds that work takes. */
export async function milliseconds(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return (low + high) / 2;
}

/** Finds the median of each figure. @param runs - one at least */
export function mediansOf<Figures extends { readonly [Name in keyof Figures]: number }>(
  runs: readonly Figures[],
): Record<keyof Figures, number> {
  const names = Object.keys(runs[0] ?? {}) as (keyof Figures)[];
  const medians = names.map((name) => [name, median(runs.map((run) => run[name]))]);
  return Object.fromEntries(medians);
}

/** The smallest figure that `percent` of all are not above. */
export function percentile(percent: number, figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.ceil((figures.length * percent) / 100) - 1] ?? Number.NaN;
}

/** Rounds to the four digits that a row has. */
export function round(value: number): number {
  return Number(value.toPrecision(4));
}
