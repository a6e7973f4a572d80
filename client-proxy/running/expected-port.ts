import { resolve } from 'node:path';
import { defaultDataDirectory } from '../store/locations.ts';
import type { Preferences } from '../store/preferences.ts';
import { SettingsKeeper } from '../store/settings.ts';
import { commandOf, readUnit, unitFile } from './unit.ts';

/** Where a Reader on this database will listen that is not told otherwise: by its service, or its settings; `undefined`: as usual. */
export function expectedPort(directory: string, preferences: Preferences): number | undefined {
  return installedPort(directory) ?? new SettingsKeeper(preferences).current.port;
}

/** The port that the service was installed with, if it is there, opens this database and was given one. */
function installedPort(directory: string): number | undefined {
  const unit = readUnit(unitFile());
  if (!unit?.own) return undefined;
  const command = commandOf(unit.text);
  const argumentOf = (name: string) => command.find((_, index) => command[index - 1] === name);
  if ((argumentOf('--data') ?? defaultDataDirectory()) !== resolve(directory)) return undefined;
  return Number(argumentOf('--port')) || undefined;
}
