import { resolve } from 'node:path';
import { defaultDataDirectory } from '../store/locations.ts';
import { commandOf, readUnit, unitFile } from './unit.ts';

/** The port that the service was installed with, if it is there, opens this database and was given one. */
export function installedPort(directory: string): number | undefined {
  const unit = readUnit(unitFile());
  if (!unit?.own) return undefined;
  const command = commandOf(unit.text);
  const argumentOf = (name: string) => command.find((_, index) => command[index - 1] === name);
  if ((argumentOf('--data') ?? defaultDataDirectory()) !== resolve(directory)) return undefined;
  return Number(argumentOf('--port')) || undefined;
}
