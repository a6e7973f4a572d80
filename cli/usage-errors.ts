/** What the parser of the command line says about wrong arguments, in the one voice. */
import type { Command } from 'commander';
import { say } from './voice.ts';

/** Lets every command below `program` say what is wrong with its arguments, and where its arguments are explained. */
export function adaptUsageErrors(program: Command): void {
  program.configureOutput({
    outputError: (text) => {
      for (const line of adaptUsageError(text, pathOf(program))) say(line);
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
    return suggestion ? `hint: ${suggestion.replace('Did', 'did')}` : line.replace(/^wispr: /, '');
  });
  return [said, ...hints, ...(hints.length === 0 ? [`hint: ${command} --help`] : [])];
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
