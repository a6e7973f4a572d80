/** Messages of the command line's parser about wrong arguments. */
import type { Command } from 'commander';
import { nearestWords } from '../../node-support/nearest-words.ts';
import { printable } from '../../node-support/printable.ts';
import { hintLine, say } from './voice.ts';

/** Lets every command below `program` say what is wrong with its arguments, and where its arguments are explained. */
export function adaptUsageErrors(program: Command): void {
  program.configureOutput({
    outputError: (text) => {
      for (const line of unknownSubcommand(text, program) ?? linesOf(text, program)) say(line);
    },
  });
  for (const command of program.commands) adaptUsageErrors(command);
}

/** @param text - of commander, such as `error: missing required argument 'url'` */
function linesOf(text: string, command: Command): string[] {
  const lines = text.trimEnd().split('\n');
  const said = lines.map((line) =>
    line
      .replace(/^(?:error|wispr): (?:command-argument value )?/, '')
      .replace(/^\(Did you mean (.*)\?\)$/, (_, words: string) => hintLine(`did you mean ${words}?`))
      .replace(/\.$/, ''),
  );
  return said.length > 1 ? said : [...said, hintLine(`${pathOf(command)} --help`)];
}

/**
 * Says what to do where the name of a subcommand was mistyped. A command that does something without one, or has one that is meant without being
 * named, takes the word for an argument too many; what it is like helps more. A word that is like none of them is such an argument.
 */
function unknownSubcommand(text: string, command: Command): string[] | undefined {
  if (!text.startsWith('error: too many arguments')) return undefined;
  const { args } = command;
  const group = [command, command.parent].find((one) => one && one.commands.length > 0 && one.args[0] === args[0]);
  const [word = ''] = args;
  if (!group || group.commands.some((one) => one.name() === word)) return undefined;
  const near = nearestWords(
    word,
    group.commands.map((one) => one.name()),
  );
  if (near.length === 0) return undefined;
  return [`unknown command '${printable(word)}'`, hintLine(`did you mean ${near.join(' or ')}?`)];
}

/** Names a command as it is typed: `wispr bind`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
