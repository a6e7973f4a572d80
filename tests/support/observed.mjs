/**
 * Loaded into a program before its own modules (`NODE_OPTIONS=--import=…`): its clock is WISPR_TEST_AHEAD seconds ahead, and when it ends it appends to
 * the file WISPR_TEST_COSTS what it took, as a line of JSON: its words, seconds, seconds of a core, and MiB at most.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const { WISPR_TEST_AHEAD: ahead = '0', WISPR_TEST_COSTS: file } = process.env;

if (ahead !== '0') {
  const RightDate = Date;
  globalThis.Date = class extends RightDate {
    constructor(...args) {
      super(...(args.length === 0 ? [Date.now()] : args));
    }

    static now() {
      return RightDate.now() + 1000 * Number(ahead);
    }
  };
}

if (isMainThread && file !== undefined)
  process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    const [words, seconds] = [process.argv.slice(2).join(' '), process.uptime()];
    appendFileSync(file, `${JSON.stringify([words, seconds, (userCPUTime + systemCPUTime) / 1e6, maxRSS / 1024])}\n`);
  });
