/** What the parser of the command line says about wrong arguments, in the one voice. */
import type { Command } from 'commander';
import { nearestWords } from '../../node-support/nearest-words.ts';
import { printable } from '../../node-support/printable.ts';
import { hintLine, say } from './voice.ts';

/** Lets every command below `program` say what is wrong with its arguments, and where its arguments are explained. */
export function adaptUsageErrors(program: Command): void {
  program.configureOutput({
    outputError: (text) => {
      const unknown = unknownSubcommand(text, program);
      for (const line of unknown ?? adaptUsageError(withChoices(text, program), pathOf(program))) say(line);
    },
  });
  for (const command of program.commands) adaptUsageErrors(command);
}

/**
 * The lines to say: what happened, and hints; lower case, no full stop.
 *
 * @param text - of commander, such as `error: too many arguments for 'bind'. Expected 1 argument but got 2.`
 * @param command - as it is typed: `wispr bind`
 */
function adaptUsageError(text: string, command: string): string[] {
  const [first = '', ...more] = text.trimEnd().split('\n');
  const said = first
    .replace(/^error: /, '')
    .replace(/^command-argument value ('.*') is invalid for argument '(.*?)'/s, '$1 cannot stand for $2')
    .replace(/^option ('.*?') argument ('.*') is invalid/s, '$2 cannot stand after $1')
    .replace(/\. ([A-Z])(?=[a-z])/g, (_, letter: string) => `; ${letter.toLowerCase()}`)
    .replace(/\. (?=\S)/g, '; ')
    .replace(/\.$/, '');
  const hints = more.map((line) => {
    const suggestion = /^\((Did you mean .*)\)$/.exec(line)?.[1];
    return suggestion ? hintLine(suggestion.replace('Did', 'did')) : line.replace(/^wispr: /, '');
  });
  return [said, ...hints, ...(hints.length === 0 ? [hintLine(`${command} --help`)] : [])];
}

/** What can stand in a place is said where something else stands there; where nothing does, it is no less wanted. */
function withChoices(text: string, { registeredArguments }: Command): string {
  return text.replace(/^error: missing required argument '(.*?)'/, (said, name: string) => {
    const choices = registeredArguments.find((one) => one.name() === name)?.argChoices;
    return choices ? `${said}: one of ${choices.join(', ')}` : said;
  });
}

/**
 * What to say where the name of a subcommand was mistyped. A command that does something without one, or has one that is meant without being
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

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
