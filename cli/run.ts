/** Runs one of several commands as it was typed. */
import { Command, CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { outliveOutputErrors } from './output-errors.ts';
import { adaptUsageErrors } from './usage-errors.ts';
import { EXIT, explain } from './voice.ts';

/** By name, in the order in which the help shows them. */
export type CommandTable = Readonly<Record<string, () => Promise<(program: Command) => void>>>;

const VERSION_OPTIONS = ['-V', '--version'];

/**
 * @param about - a paragraph for the end of the help
 * @returns the exit code; `undefined` where the command has set its own, or none
 */
export async function runCommandLine(commands: CommandTable, about?: string): Promise<number | undefined> {
  outliveOutputErrors();
  try {
    const program = await createProgram(commands, process.argv.slice(2));
    if (about !== undefined) program.addHelpText('after', `\n${about}`);
    await program.parseAsync();
    return undefined;
  } catch (error) {
    return error instanceof CommanderError ? (error.exitCode === 0 ? EXIT.good : EXIT.usage) : explain(error);
  }
}

async function createProgram(commands: CommandTable, words: readonly string[]): Promise<Command> {
  const program = new Command('wispr')
    .description('encrypted publishing over caches that nobody has to trust')
    .version(packageJson.version, VERSION_OPTIONS.join(', '))
    .showSuggestionAfterError()
    .configureHelp({ minWidthToWrap: 20 }) // beside long names too, everything stays within 80 columns
    .exitOverride();
  for (const name of namedIn(commands, words)) (await commands[name]?.())?.(program);
  program.enablePositionalOptions(); // what stands behind a command is for it; set last, because commands would inherit it
  adaptUsageErrors(program);
  return program;
}

/** Only the command that is asked for is loaded: all of them together take twice the time to start, and 20 MiB more. */
function namedIn(commands: CommandTable, words: readonly string[]): readonly string[] {
  const [first = ''] = words;
  if (VERSION_OPTIONS.includes(first)) return [];
  return Object.hasOwn(commands, first) ? [first] : Object.keys(commands);
}
