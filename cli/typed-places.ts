/** Where a command was told to work. Commands in its hints need that too: as they would be typed from them, they would work elsewhere. */
import type { Command } from 'commander';
import { shellWord } from '../node-support/printable.ts';

/** What was typed about places. */
export interface TypedPlaces {
  /** The command, as in `wispr COMMAND`. */
  readonly command: string;
  /** `-c FILE`, or the directory in its place. */
  readonly config?: string | undefined;
  /** Of `wispr protect`. */
  readonly out?: string | undefined;
  /** Of `wispr publish`. */
  readonly target?: string | undefined;
}

/** Those that work in a publisher's workspace; `-c` of others is another file. */
const WITH_WORKSPACE = ['check', 'keys', 'protect', 'publish', 'timestamp', 'withdraw'];
/** In quotation marks, as hints have them; what signers run knows no workspace. */
const NAMED = new RegExp(`"wispr (${WITH_WORKSPACE.join('|')})\\b(?! (?:sign|new-signer)\\b)([^"]*)"`, 'g');

/** @param action - the command that was typed, once its arguments are known */
export function typedPlaces(action: Command): TypedPlaces | undefined {
  const command = topOf(action).name();
  if (!WITH_WORKSPACE.includes(command)) return undefined;
  const { config, out } = action.opts<{ config?: string; out?: string }>();
  const [argument] = action.processedArgs as unknown[];
  const named = typeof argument === 'string' ? argument : undefined;
  const isSite = command === 'protect' || command === 'check';
  return {
    command,
    config: config ?? (isSite ? named : undefined),
    out,
    target: command === 'publish' ? named : undefined,
  };
}

/** The commands in a hint, with the places that were typed. */
export function withPlaces(hint: string, places: TypedPlaces): string {
  const { command, config, out, target } = places;
  return hint.replace(NAMED, (_, name: string, rest: string) => {
    const own = name === command ? [...(target === undefined ? [] : [shellWord(target)]), ...option('--out', out)] : [];
    return `"${['wispr', name + rest, ...own, ...option('-c', config)].join(' ')}"`;
  });
}

function topOf(command: Command): Command {
  return command.parent?.parent ? topOf(command.parent) : command;
}

function option(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, shellWord(value)];
}
