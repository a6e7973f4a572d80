/** Figures 1 and 2: how long a page takes over narrow links, and what goes over the link meanwhile. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stopAll } from '../../../cache-config/child.ts';
import { CABLE, CELL, DSL, EDGE, G3, INMARSAT, IRIDIUM, LOOPBACK } from '../../link/kinds.ts';
import { FAR, type LinkKind, NarrowLink } from '../../link/narrow-link.ts';
import { median, runCommand } from '../../measure.ts';
import { NODE } from '../../processes.ts';
import { type Figure, ranOn, table } from '../document.ts';
import { bars } from '../plot.ts';
import { removeFolder, startFar } from './far.ts';
import { type NearAnswer, type NearCommand, type NearSetting, WAYS, type Way } from './setting.ts';

const NEAR_SIDE = fileURLToPath(new URL('near.ts', import.meta.url));
/** `quick`: each page once, and not over the slowest link, where a load takes minutes. */
const IS_QUICK = process.env.WISPR_EVALUATE === 'quick';
const KINDS = [LOOPBACK, CABLE, DSL, G3, CELL, EDGE, INMARSAT, ...(IS_QUICK ? [] : [IRIDIUM])];
const RUNS = IS_QUICK ? 1 : 5;
/** A load takes minutes there. */
const RUNS_AT_LEAST_SPEED = 1;
const SLOW = 10_000;
const SETTLING = 300;
const RUN_HOW = IS_QUICK
  ? 'One load each, while other programs were running: only where the link is slow do the seconds say much.'
  : `Medians of ${RUNS} loads, ${RUNS_AT_LEAST_SPEED} on Iridium.`;

const PAGES = [
  { name: 'front page of the newspaper', short: 'front', path: '/' },
  { name: 'a chapter of the Debian handbook', short: 'handbook', path: '/handbook/apt.html' },
];

/** One load. */
interface Load {
  readonly milliseconds: number;
  /** On the link, both ways. */
  readonly bytes: number;
}

type Results = Map<LinkKind, Map<Way, Load[]>>;

export async function pageFigure(say: (text: string) => void): Promise<Figure> {
  const endings: (() => Promise<unknown>)[] = [];
  try {
    const directory = await mkdtemp(join(tmpdir(), 'wispr-evaluate-page-'));
    endings.push(() => removeFolder(directory), stopAll);
    say('publishes the sites');
    const far = await startFar(join(directory, 'far'), endings);
    const link = await NarrowLink.start();
    endings.push(() => link.stop());
    await mkdir(join(directory, 'near'));
    say('connects the readers');
    const near = await Near.start(link, { ...far, directory: join(directory, 'near') });
    endings.push(() => near.stop());
    const checks = await checkLinks(link, say);
    const results = new Map<string, Results>();
    for (const { name, path } of PAGES)
      results.set(name, await measure(link, near, path, (text) => say(`${name}: ${text}`)));
    return described(results, checks);
  } finally {
    for (const end of endings.toReversed()) await end();
  }
}

/** The near side's process. */
class Near {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(process: ChildProcess, lines: AsyncIterator<string>) {
    this.#process = process;
    this.#lines = lines;
  }

  static async start(link: NarrowLink, setting: NearSetting): Promise<Near> {
    const [command, args] = link.near(NODE, [NEAR_SIDE, JSON.stringify(setting)]);
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const near = new Near(child, createInterface({ input: child.stdout })[Symbol.asyncIterator]());
    await near.#answer();
    return near;
  }

  async ask(command: NearCommand): Promise<NearAnswer> {
    this.#process.stdin?.write(`${JSON.stringify(command)}\n`);
    return this.#answer();
  }

  async #answer(): Promise<NearAnswer> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('the near side ended');
    const answer: NearAnswer = JSON.parse(value);
    if (answer.error !== undefined) throw new Error(`the near side: ${answer.error}`);
    return answer;
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end();
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}

async function measure(link: NarrowLink, near: Near, path: string, say: (text: string) => void): Promise<Results> {
  const results: Results = new Map(KINDS.map((kind) => [kind, new Map(WAYS.map((way) => [way, [] as Load[]]))]));
  for (const kind of KINDS) {
    const runs = isSlow(kind) ? RUNS_AT_LEAST_SPEED : RUNS;
    for (let run = 0; run < runs; run++) {
      for (const way of WAYS) {
        const load = await loadOver(link, near, kind, way, path);
        results.get(kind)?.get(way)?.push(load);
        say(`${kind.name}, ${way}: ${(load.milliseconds / 1000).toFixed(2)} s, ${load.bytes} bytes`);
      }
    }
  }
  return results;
}

async function loadOver(link: NarrowLink, near: Near, kind: LinkKind, way: Way, path: string): Promise<Load> {
  await link.become(LOOPBACK);
  await near.ask({ do: 'prepare', way });
  await pause(SETTLING);
  await link.become(kind);
  const before = await link.carried();
  const { milliseconds = Number.NaN } = await near.ask({ do: 'load', path });
  const after = await link.carried();
  await link.become(LOOPBACK);
  const bytes = after.up.bytes - before.up.bytes + after.down.bytes - before.down.bytes;
  return { milliseconds, bytes };
}

function isSlow({ down }: LinkKind): boolean {
  return down > 0 && down < SLOW;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Each link as `ping` sees it: round trip of 84 bytes, median of five. */
async function checkLinks(link: NarrowLink, say: (text: string) => void): Promise<Map<LinkKind, number>> {
  const found = new Map<LinkKind, number>();
  for (const kind of KINDS) {
    await link.become(kind);
    const [command, args] = link.near('ping', ['-n', '-c', '5', '-i', isSlow(kind) ? '2' : '0.3', FAR]);
    const times = Array.from((await runCommand(command, args)).matchAll(/time=([\d.]+)/g), ([, time]) => Number(time));
    const bits = 84 * 8;
    const expected = 2 * kind.delay + (kind.up && (bits / kind.up) * 1000) + (kind.down && (bits / kind.down) * 1000);
    const measured = median(times);
    say(`${kind.name}: ping ${measured} ms, expected ${expected.toFixed(1)}`);
    if (measured < expected - 1 || measured > expected * 1.1 + 3)
      throw new Error(`the link ${kind.name} is not what it should be`);
    found.set(kind, measured);
  }
  return found;
}

function described(results: ReadonlyMap<string, Results>, pings: ReadonlyMap<LinkKind, number>): Figure {
  const plots: Record<string, string> = {};
  const parts: string[] = [];
  for (const { name, short } of PAGES) {
    const found = results.get(name) ?? new Map();
    const groups = KINDS.map((kind) => kind.name);
    const series = (of: keyof Load, scale: number) =>
      WAYS.map((way) => ({ name: way, values: KINDS.map((kind) => figureOf(found, kind, way, of) / scale) }));
    plots[`page-${short}`] = bars({
      title: `Seconds to ${name}`,
      unit: 's',
      groups,
      series: series('milliseconds', 1000),
      logarithmic: true,
    });
    plots[`bytes-${short}`] = bars({
      title: `Bytes on the link for ${name}`,
      unit: 'KiB',
      groups,
      series: series('bytes', 1024),
    });
    parts.push(
      `**${capital(name)}.** Seconds until the page and its pictures are there.\n`,
      table(
        ['link', 'ping', ...WAYS],
        rowsOf(found, pings, 'milliseconds', (value) => (value / 1000).toPrecision(3)),
      ),
      `\n{{plot page-${short}}}\n\nKiB that went over the link, both ways, IP headers included.\n`,
      table(
        ['link', 'ping', ...WAYS],
        rowsOf(found, pings, 'bytes', (value) => (value / 1024).toFixed(1)),
      ),
      `\n{{plot bytes-${short}}}\n`,
    );
  }
  return {
    text: [...parts, `${RUN_HOW} ${ranOn()}`].join('\n'),
    plots,
  };
}

function rowsOf(
  found: Results,
  pings: ReadonlyMap<LinkKind, number>,
  of: keyof Load,
  form: (value: number) => string,
): string[][] {
  return KINDS.map((kind) => [
    kind.name,
    `${Math.round(pings.get(kind) ?? Number.NaN)} ms`,
    ...WAYS.map((way) => form(figureOf(found, kind, way, of))),
  ]);
}

function figureOf(found: Results, kind: LinkKind, way: Way, of: keyof Load): number {
  return median((found.get(kind)?.get(way) ?? []).map((load) => load[of]));
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
