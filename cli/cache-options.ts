/** The option of commands that keep what is read: how much of it. */
import { type Command, InvalidArgumentError } from 'commander';

export interface CacheFlags {
  readonly cacheSize?: number;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

export function addCacheOption(command: Command): Command {
  return command.option(
    '--cache-size <size>',
    'how much of what was read is kept, encrypted, for reading it again without a network: 500M, 20G; 0 keeps nothing (default: as in the settings of the Reader, or 2G)',
    parseSize,
  );
}

/** For the functions of the reader. */
export function cacheOptions({ cacheSize }: CacheFlags): { cacheBytes?: number } {
  return cacheSize === undefined ? {} : { cacheBytes: cacheSize };
}

function parseSize(text: string): number {
  const [matched, digits = '', unit = ''] = /^(\d{1,15}(?:\.\d{1,3})?)([KMGT]?)(?:i?B)?$/i.exec(text) ?? [];
  const bytes = Math.floor(Number(digits) * (UNITS[unit.toUpperCase()] ?? Number.NaN));
  if (matched === undefined || !Number.isSafeInteger(bytes))
    throw new InvalidArgumentError('a size is a number of bytes, or of K, M, G or T: 500M, 20G.');
  return bytes;
}
