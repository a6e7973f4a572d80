/** Check that an emulated link is what it should be. */
import { median, runCommand } from '../../bench/measure.ts';
import { IS_QUICK } from '../quick.ts';
import { FAR, type LinkKind, type NarrowLink } from './narrow-link.ts';

const SLOW = 10_000;

/** Tells whether one direction has less than 10,000 bit/s. */
export function isSlow({ up, down }: LinkKind): boolean {
  return [up, down].some((rate) => rate > 0 && rate < SLOW);
}

/** Pings each link. @returns milliseconds, the median of five @throws Error where rate and delay say otherwise, unless the run is quick */
export async function checkLinks(
  link: NarrowLink,
  kinds: readonly LinkKind[],
  report: (text: string) => void,
): Promise<Map<LinkKind, number>> {
  const found = new Map<LinkKind, number>();
  for (const kind of kinds) {
    await link.become(kind);
    const [command, args] = link.near('ping', ['-n', '-c', '5', '-i', isSlow(kind) ? '2' : '0.3', FAR]);
    const times = Array.from((await runCommand(command, args)).matchAll(/time=([\d.]+)/g), ([, time]) => Number(time));
    const bits = 84 * 8;
    const expected = 2 * kind.delay + (kind.up && (bits / kind.up) * 1000) + (kind.down && (bits / kind.down) * 1000);
    const measured = median(times);
    report(`${kind.name}: ping ${measured} ms, expected ${expected.toFixed(1)}`);
    const isRight = measured >= expected - 1 && measured <= expected * 1.1 + 3;
    if (!isRight && !IS_QUICK) throw new Error(`the link ${kind.name} is not what it should be: is the machine busy?`);
    found.set(kind, measured);
  }
  return found;
}
