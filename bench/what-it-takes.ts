/** Resources that a program of Node.js takes: time, processors, memory. */
import { runCommand } from './measure.ts';
import { NODE } from './processes.ts';

/** Says peak memory in KiB and processor time in microseconds when a process ends; threads run it too, and are silent. */
const REPORT = `
  const { isMainThread } = process.getBuiltinModule('node:worker_threads');
  const { writeSync } = process.getBuiltinModule('node:fs');
  if (isMainThread) process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    writeSync(1, '\\n' + maxRSS + ' ' + (userCPUTime + systemCPUTime));
  });
`;

export interface ResourceUse {
  readonly seconds: number;
  /** Seconds of a core, of all its threads. */
  readonly processor: number;
  /** MiB at most. */
  readonly memory: number;
}

/** @throws Error with what it said if it fails */
export async function whatItTakes(args: readonly string[], directory: string): Promise<ResourceUse> {
  const report = `data:text/javascript,${encodeURIComponent(REPORT)}`;
  const start = performance.now();
  const said = await runCommand(NODE, ['--import', report, ...args], directory);
  const seconds = (performance.now() - start) / 1000;
  const [memory = Number.NaN, processor = Number.NaN] = said
    .slice(said.lastIndexOf('\n'))
    .trim()
    .split(' ')
    .map(Number);
  return { seconds, processor: processor / 1e6, memory: memory / 1024 };
}
