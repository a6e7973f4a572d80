import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { daySpan, type TimeSpan } from '../../core/keys/set-time.ts';
import { KeyServerError } from '../../keyserver/errors.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../../publisher/errors.ts';
import { CONFIGURATION_FILE } from '../../publisher/workspace/workspace.ts';
import { currentIo } from './context.ts';
import { UsageError } from './voice.ts';

/**
 * The configuration that DIR and `-c` name.
 *
 * @throws PublishError `configuration-missing`; UsageError if both name one
 */
export function locateConfiguration(directory: string | undefined, config: string | undefined): string {
  if (directory !== undefined && config !== undefined) throw new UsageError('name either DIR or -c FILE, not both');
  if (directory !== undefined && !existsSync(directory))
    throw new UsageError(
      `there is no directory ${directory}`,
      'name the directory of wispr.json, or leave it out there',
    );
  const named = config ?? directory ?? (relative(process.cwd(), currentIo().cwd) || '.');
  const isDirectory = existsSync(named) && statSync(named).isDirectory();
  const file = isDirectory ? join(named, CONFIGURATION_FILE) : named;
  if (existsSync(file)) return file;
  throw new PublishError('configuration-missing', `${file}: no such file`, { typed: true });
}

export function collect(value: string, values: readonly string[] = []): readonly string[] {
  return [...values, value];
}

/** Takes a whole number from 1 to `most`. @returns throws InvalidArgumentError for anything else */
export function parseWholeNumber(most: number): (text: string) => number {
  const parse = parseNumber(/^[1-9]\d{0,8}$/, `it takes a whole number from 1 to ${most}`);
  return (text) => {
    const number = parse(text);
    if (number > most) throw new InvalidArgumentError(`it takes a whole number from 1 to ${most}`);
    return number;
  };
}

/** Takes what `pattern` allows as a number. @returns throws InvalidArgumentError with `problem` for anything else */
export function parseNumber(pattern: RegExp, problem: string): (text: string) => number {
  return (text) => {
    if (pattern.test(text)) return Number(text);
    throw new InvalidArgumentError(problem);
  };
}

/**
 * Reads a file that was named, unless it is too long.
 *
 * @param most - bytes
 * @param remark - what follows where it is longer
 * @throws KeyServerError `argument-invalid`
 */
export function readBounded(file: string, most: number, remark = ''): Uint8Array {
  try {
    if (statSync(file).size > most) throw new Error(`it is longer than ${most} bytes${remark}`);
    return readFileSync(file);
  } catch (cause) {
    throw new KeyServerError('argument-invalid', describeUnreadable(file, cause), { cause, typed: true });
  }
}

/** The seconds of a day as it is typed. @throws UsageError */
export function dayArgument(text: string, zone = 'UTC'): TimeSpan {
  const span = daySpan(text, zone);
  if (span) return span;
  throw new UsageError(`"${text.slice(0, 40)}" is not a date`, 'write it like 2027-06-30');
}
