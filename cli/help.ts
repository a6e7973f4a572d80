/** Layout of the help: commands by role, options that commands share in one place, examples at the end. */
import { styleText } from 'node:util';
import { type Command, Help, type HelpConfiguration, type Option } from 'commander';
import { EXAMPLES } from './examples.ts';
import { HOMES } from './io/common-options.ts';
import { pathOf } from './io/usage-errors.ts';

/** Roles that use commands; any other command is for everybody. */
const ROLES = Object.entries({
  'Publishers:': [
    'init',
    'check',
    'serve',
    'protect',
    'publish',
    'invite',
    'keys',
    'timestamp',
    'rollback',
    'withdraw',
  ],
  'Operators:': ['keyserver', 'admin', 'doctor', 'cache-config', 'httpcrypt', 'link'],
  'Readers:': ['proxy', 'bind', 'fetch', 'sync', 'identity'],
});

/** The heading under which the help of `wispr` shows a command. */
export function roleOf(name: string): string {
  return ROLES.find(([, names]) => names.includes(name))?.[0] ?? 'Everybody:';
}

const bold = (text: string) => styleText('bold', text, { validateStream: false });
const coloured = (text: string) => styleText('cyan', text, { validateStream: false });

/** Settings of the help, set before commands are added, which inherit them. Without a terminal, or NO_COLOR is set, commander takes colours away. */
export const HELP: HelpConfiguration = {
  minWidthToWrap: 20, // keeps everything within 80 columns, beside long names too
  styleTitle: bold,
  styleCommandText: coloured,
  styleSubcommandText: coloured,
  styleOptionText: coloured,
  visibleOptions(this: Help, command: Command) {
    const own = Help.prototype.visibleOptions.call(this, command).filter((option) => isShown(option, command));
    const below = command.commands
      .flatMap(({ options }) => options)
      .filter((option) => homeOf(option) === pathOf(command));
    const all = new Map([...below, ...own].map((option) => [option.flags, option]));
    return [...all.values()].sort((a, b) => Number(below.includes(a)) - Number(below.includes(b)));
  },
};

/** Adds to the help of `program` and all commands below what comes after the options. To be called when all commands are there. */
export function addEndOfHelp(program: Command): void {
  program.addHelpText('after', () => endOf(program));
  for (const command of program.commands) addEndOfHelp(command);
}

function endOf(command: Command): string {
  const path = pathOf(command);
  const homes = new Set(command.options.filter((option) => !isShown(option, command)).map(homeOf));
  const examples = EXAMPLES[path] ?? [];
  return [
    ...[...homes].map((home) => `\n${bold('Common options:')} ${home} --help`),
    ...(examples.length === 0 ? [] : [`\n${bold(examples.length > 1 ? 'Examples:' : 'Example:')}`]),
    ...examples.map((example) => `  ${example}`),
  ].join('\n');
}

function isShown(option: Option, command: Command): boolean {
  const home = homeOf(option);
  return home === undefined || home === pathOf(command);
}

function homeOf({ helpGroupHeading = '' }: Option): string | undefined {
  return HOMES[helpGroupHeading];
}
