/** Runs one of several commands as it was typed. */
import { resolve } from 'node:path';
import { Command, CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addEndOfHelp, HELP, roleOf } from './help.ts';
import { currentIo, type Io, processIo, runWith, setExitCode } from './io/context.ts';
import { adaptUsageErrors } from './io/usage-errors.ts';
import { EXIT, explain } from './io/voice.ts';

/** Commands by name, in the order in which the help shows them. */
export type CommandTable = Readonly<Record<string, () => Promise<(program: Command) => void>>>;

const VERSION_OPTIONS = ['-V', '--version'];
/** Names in usage lines of arguments and options that are, or may be, paths. */
const PATHS = ['file', 'files', 'public-key-file', 'dir', 'from', 'place', 'target'];

/** @returns the exit code */
export function runCommandLine(commands: CommandTable, io: Partial<Io> = {}): Promise<number> {
  return runWith({ ...processIo(), ...io }, async () => {
    try {
      const { argv } = currentIo();
      const program = await createProgram(commands, argv);
      await program.parseAsync(argv, { from: 'user' });
    } catch (error) {
      if (!(error instanceof CommanderError)) setExitCode(explain(error));
      else setExitCode(error.exitCode === 0 ? EXIT.good : EXIT.usage);
    }
  });
}

export async function createProgram(commands: CommandTable, words: readonly string[]): Promise<Command> {
  const { stdout, stderr, env } = currentIo();
  const program = new Command('wispr')
    .description('encrypted publishing over untrusted caches')
    .version(packageJson.version, VERSION_OPTIONS.join(', '))
    .showSuggestionAfterError()
    .configureHelp(HELP)
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHasColors: () => stdout.isTTY === true && !env.NO_COLOR,
      getErrHasColors: () => stderr.isTTY === true && !env.NO_COLOR,
    })
    .exitOverride();
  for (const name of namedIn(commands, words)) (await commands[name]?.())?.(program.commandsGroup(roleOf(name)));
  program.commandsGroup(roleOf('help')).helpCommand('help [command]', 'show the help of a command');
  addEndOfHelp(program);
  program.enablePositionalOptions(); // leaves options after a command to it; set last, because commands would inherit it
  adaptUsageErrors(program);
  program.hook('preAction', (_, action) => resolvePaths(action));
  return program;
}

/** Loads only the command that is asked for: all of them together take twice the time to start, and 20 MiB more. */
function namedIn(commands: CommandTable, words: readonly string[]): readonly string[] {
  const [first = ''] = words;
  if (VERSION_OPTIONS.includes(first)) return [];
  return Object.hasOwn(commands, first) ? [first] : Object.keys(commands);
}

/** Programs resolve relative paths against the directory of the process. Where the command line has another, they are resolved here. */
function resolvePaths(action: Command): void {
  const { cwd } = currentIo();
  if (cwd === process.cwd()) return;
  action.registeredArguments.forEach((argument, index) => {
    if (PATHS.includes(argument.name())) action.processedArgs[index] = inDirectory(cwd, action.processedArgs[index]);
  });
  for (const option of action.options) {
    const [, value = ''] = /<([a-z]+)>/.exec(option.flags) ?? [];
    const name = option.attributeName();
    if (PATHS.includes(value)) action.setOptionValue(name, inDirectory(cwd, action.getOptionValue(name)));
  }
}

function inDirectory(cwd: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => inDirectory(cwd, one));
  return typeof value !== 'string' || value.includes('://') ? value : resolve(cwd, value);
}
