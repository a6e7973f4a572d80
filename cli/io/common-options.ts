/** Options that several commands have: their texts, and where those are explained that most commands of one kind have. */
import type { Command } from 'commander';

export const JSON_OPTION = ['--json', 'print one JSON object'] as const;
export const QUIET_OPTION = ['-q, --quiet', 'say nothing but errors and warnings'] as const;
export const YES_OPTION = ['-y, --yes', 'answer every question with yes'] as const;
export const PASSPHRASE_OPTION = ['--passphrase-file <file>', 'read the passphrase from this file'] as const;
export const RESTORED_OPTION = [
  '--restored',
  'publish what is here, although the last publication was made with later keys; every set gets a new key',
] as const;
export const SITE_OPTION = ['-c, --config <file>', 'wispr.json, or its directory (default: this directory)'] as const;

export interface OutputFlags {
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export interface AdminFlags {
  readonly config: string;
  readonly json?: boolean;
}

/** Headings of the options that the commands of one kind share, with the one command whose help explains them. */
export const HOMES: Readonly<Record<string, string>> = {
  'Common options of readers:': 'wispr proxy',
  'Common options of "wispr admin":': 'wispr admin',
  'Common options of "wispr keys":': 'wispr keys',
};

/** Gives `command` options that other commands have too. @param heading - one of {@link HOMES} */
export function share(command: Command, heading: keyof typeof HOMES, add: (command: Command) => Command): Command {
  return add(command.optionsGroup(heading)).optionsGroup('Options:');
}
