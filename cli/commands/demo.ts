/** `wispr demo`: the whole journey on this machine, told in a dozen lines. */
import type { Command } from 'commander';
import { setExitCode } from '../io/context.ts';
import { untilSignal } from '../io/signals.ts';
import { EXIT, print, say } from '../io/voice.ts';

interface Options {
  readonly once?: boolean;
  readonly json?: boolean;
}

const DESCRIPTION = `show the whole journey on this machine: an example newspaper is protected, cached, read by two people byte for byte, refused when one byte was changed, and sold to a stranger at a pretended checkout

stays until Ctrl-C, for you to try; everything is on loopback, and nothing is left`;

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .summary('show the whole journey with an example newspaper')
    .description(DESCRIPTION)
    .option('--once', 'end after reading and checking everything')
    .option('--json', 'print one line of JSON when ready; with --once a summary too')
    .action(run);
}

async function run({ once, json }: Options): Promise<void> {
  // Loaded only here: the other commands start faster without all the programs.
  const [{ tell }, { untilAborted, withWorld }, { chooseSite, openExample }, { stopAll }] = await Promise.all([
    import('../../serve/journey.ts'),
    import('../../serve/serving.ts'),
    import('../../serve/site.ts'),
    import('../../cache-config/servers.ts'),
  ]);
  using example = openExample();
  const settings = await chooseSite(example.folder);
  setExitCode(EXIT.failed); // holds until it ends well
  await untilSignal((signal) =>
    withWorld(settings, signal, async (world) => {
      const { addresses, good, summary, tries } = await tell(world, settings, json ? () => undefined : steps());
      if (good) setExitCode(EXIT.good);
      else say('a step failed: not every document came back as it was published, or a stranger could not buy');
      if (json) print(JSON.stringify(addresses));
      if (json && once) print(JSON.stringify({ good, ...summary }));
      if (!json && !once) print(['', 'Try:', ...tries.map(describeTry), '', 'Ctrl-C ends everything.'].join('\n'));
      if (!once) await untilAborted(signal);
    }).finally(stopAll),
  );
}

function steps(): (what: string, figures: string) => void {
  let step = 0;
  return (what, figures) => {
    step++;
    print(`${String(step).padStart(2)}  ${what.padEnd(29)} ${figures}`);
  };
}

function describeTry([label, what]: readonly [string, string]): string {
  return `    ${label.padEnd(22)} ${what}`;
}
