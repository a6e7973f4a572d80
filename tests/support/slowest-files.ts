/** What the tests took, by file: printed above Vitest's own summary, so that a suite that becomes slow shows where. */
import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 10;

export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return; // a few files are timed line by line already
    const timed = modules.map((module) => ({ file: module.relativeModuleId, seconds: secondsOf(module) }));
    timed.sort((a, b) => b.seconds - a.seconds);
    const lines = timed.slice(0, SHOWN).map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
    process.stdout.write(`\nThe ten slowest of ${modules.length} files:\n${lines.join('\n')}\n`);
  }
}

/** Loading, hooks and tests. */
function secondsOf(module: TestModule): number {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return (collectDuration + setupDuration + duration) / 1000;
}
