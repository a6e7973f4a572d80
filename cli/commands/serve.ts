import { existsSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { describeListening } from '../../node-support/system-error.ts';
import type { Views } from '../../serve/serving.ts';
import { untilSignal } from '../io/signals.ts';
import { print, say, UsageError } from '../io/voice.ts';
import { describeChanges } from './protection-summary.ts';
import { parsePort } from './reader-options.ts';
import { tryAgain } from './watching.ts';

interface Options {
  readonly port: number;
  readonly json?: boolean;
}

/** Port other than 8000, which `python3 -m http.server` takes. */
const DEFAULT_PORT = 8010;

const DESCRIPTION = `show a site on this machine as strangers, subscribers and a cache see it, and again after every change

keys are made for it, and nothing but the site and the settings in its wispr.json is read; all servers are on loopback, and when the command ends nothing is left`;

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .summary('show a site as strangers, subscribers and a cache see it')
    .description(DESCRIPTION)
    .argument('<dir>', 'the site: its files, or the directory of its wispr.json')
    .option('-p, --port <port>', 'the port of the tour, 0 for a free one', parsePort, DEFAULT_PORT)
    .option('--json', 'print one line of JSON when ready')
    .action(serve);
}

async function serve(directory: string, { port, json }: Options): Promise<void> {
  if (!existsSync(directory) || !statSync(directory).isDirectory())
    throw new UsageError(
      existsSync(directory) ? `${directory} is not a directory` : `there is no directory ${directory}`,
    );
  // Loaded only here: the other commands start faster without all the programs.
  const [{ startServing, withWorld }, { chooseSite }, { watchSite }] = await Promise.all([
    import('../../serve/serving.ts'),
    import('../../serve/site.ts'),
    import('../../publisher/protect/watch.ts'),
  ]);
  const settings = await chooseSite(directory);
  const { source, fallback } = settings;
  say('starting a key server, a web host and a Reader for it');
  const watched = { directory: source, files: fallback?.template === undefined ? [] : [fallback.template] };
  await untilSignal((signal) =>
    withWorld(settings, signal, async (world) => {
      let serving: Awaited<ReturnType<typeof startServing>> | undefined;
      await watchSite(
        async () => watched,
        signal,
        async () => {
          const again = serving?.publishAgain;
          if (again) return tryAgain(async () => say(describeChanges((await again()).changes)), {}, signal);
          serving = await startServing(world, { port }).catch((error) => rethrow(error, port));
          sayReady(serving.views, source, json);
          return true;
        },
      );
    }),
  );
}

function sayReady({ tour, stranger, reader, cache }: Views, source: string, json: boolean | undefined): void {
  const lines = [
    `tour:      ${tour}   (all three beside one another; loads again after a change)`,
    `stranger:  ${stranger}`,
    `reader:    ${reader}`,
    `cache:     ${cache}   (the file of the page that the tour shows)`,
  ];
  print(json ? JSON.stringify({ tour, stranger, reader, cache }) : lines.join('\n'));
  say(`watching ${source}; Ctrl-C ends everything`);
}

function rethrow(error: unknown, port: number): never {
  if (!(error instanceof Error && 'syscall' in error && error.syscall === 'listen')) throw error;
  throw new UsageError(describeListening({ port }, error), 'choose another with `--port PORT`');
}
