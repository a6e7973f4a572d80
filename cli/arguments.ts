/** Checks of arguments that several commands share. */
import { existsSync } from 'node:fs';
import { UsageError } from './voice.ts';

/** @throws UsageError if there is nothing at `path` */
export function checkReadable(path: string): void {
  if (!existsSync(path)) throw new UsageError(`there is no ${path}`, 'check the path');
}

/** The values of an option that may be given more than once. */
export function collect(value: string, values: readonly string[] = []): readonly string[] {
  return [...values, value];
}
