/** `npm run demo`: the whole journey on this machine, told in a dozen lines. */
import { parseArgs } from 'node:util';
import { stopAll } from '../cache-config/servers.ts';
import { CodedError, reasonOf } from '../core/errors.ts';
import { chooseSite } from './site.ts';
import { type Ending, tell } from './story.ts';
import { World } from './world.ts';

const HELP = `npm run demo [-- OPTION…]

  --once        end after reading and checking everything
  --site DIR    publish this directory instead of the example newspaper; a wispr.json in it says how
  --tamper      let the cache change one byte, and show what becomes of it
  --json        one line of JSON when ready; with --once a summary too
`;

const stopped = new Promise<undefined>((resolve) => {
  // Not once: npm passes on what the terminal has sent to this process already, and the second must not cut the ending short.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(undefined));
  process.stdout.on('error', () => resolve(undefined)); // the reader has left: `npm run demo | head`
});

process.exitCode = await main().catch((error: unknown) => {
  const known = error instanceof CodedError ? error : undefined;
  process.stderr.write(`demo: ${reasonOf(error)}\n`);
  if (known?.remedy) process.stderr.write(`demo: hint: ${known.remedy}\n`);
  return 1;
});

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) return 2;
  if (options.help) return print(HELP, 0);
  const settings = await chooseSite(options.site);
  const world = await World.create(settings);
  const telling = tell(world, settings, options.tamper === true, options.json ? () => undefined : tellStep());
  try {
    const ending = await Promise.race([telling, stopped]);
    if (ending === undefined) return 1; // stopped before the end
    report(ending, options);
    if (!options.once) await stopped;
    return ending.good ? 0 : 1;
  } finally {
    await world.close();
    // A step that was under way fails in a world that is gone, but may have written something first.
    await telling.catch(() => undefined);
    await world.close();
    await stopAll();
  }
}

interface Options {
  readonly once?: boolean;
  readonly site?: string;
  readonly tamper?: boolean;
  readonly json?: boolean;
  readonly help?: boolean;
}

function readOptions(): Options | undefined {
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({ options: { once: flag, site: { type: 'string' }, tamper: flag, json: flag, help: flag } })
      .values;
  } catch (error) {
    process.stderr.write(`demo: ${reasonOf(error)}\n${HELP}`);
    return undefined;
  }
}

function tellStep(): (what: string, figures: string) => void {
  let step = 0;
  return (what, figures) => {
    step++;
    print(`${String(step).padStart(2)}  ${what.padEnd(29)} ${figures}\n`, 0);
  };
}

function report({ addresses, good, summary, tries }: Ending, { json, once }: Options): void {
  if (json) {
    print(`${JSON.stringify(addresses)}\n`, 0);
    if (once) print(`${JSON.stringify({ good, ...summary })}\n`, 0);
    return;
  }
  if (!good) print('\nNot every document came back as it was published.\n', 1);
  if (once) return;
  print('\nTry:\n', 0);
  for (const [label, what] of tries) print(`    ${label.padEnd(22)} ${what}\n`, 0);
  print('\nCtrl-C ends everything.\n', 0);
}

function print(text: string, code: number): number {
  process.stdout.write(text);
  return code;
}
