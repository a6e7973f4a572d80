import { existsSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { PublishError } from '../publisher/errors.ts';
import { CONFIGURATION_FILE } from '../publisher/workspace.ts';
import { currentIo } from './io/context.ts';
import { UsageError } from './voice.ts';

/**
 * The configuration that SITE and `-c` name.
 *
 * @throws PublishError `configuration-missing`; UsageError if both name one
 */
export function locateConfiguration(site: string | undefined, config: string | undefined): string {
  if (site !== undefined && config !== undefined) throw new UsageError('name either SITE or -c FILE, not both');
  const named = config ?? site ?? (relative(process.cwd(), currentIo().cwd) || '.');
  if (!existsSync(named)) throw missing(named, 'name the directory where wispr.json is');
  const file = statSync(named).isDirectory() ? join(named, CONFIGURATION_FILE) : named;
  if (existsSync(file)) return file;
  throw missing(file, hintFor(named));
}

/** The directory of the pages is often the first that comes to mind. */
function hintFor(named: string): string {
  const above = join(named, '..', CONFIGURATION_FILE);
  if (existsSync(above))
    return `name the directory of wispr.json, which is ${resolve(named, '..')}, and not that of the pages`;
  return 'run "wispr init URL" to make one, or name the directory where it is';
}

function missing(path: string, hint: string): PublishError {
  return new PublishError('configuration-missing', `there is no ${path}`, { typed: true, hint });
}
