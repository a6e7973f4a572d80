/** Choice of the site that is shown, and of its settings. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { headTargetOf, targetUrlPath } from '../core/publication/names.ts';
import { openProgramFolder } from '../node-support/program-files.ts';
import { readConfiguration } from '../publisher/workspace/configuration/read.ts';
import type { Configuration, ConfigurationInput } from '../publisher/workspace/configuration/schema.ts';
import { openIndexReadOnly } from '../publisher/workspace/index/open.ts';
import { CONFIGURATION_FILE, workspaceOf } from '../publisher/workspace/workspace.ts';

/** Settings that lead to the publisher's own servers, targets and shop: everything here runs on this machine, and nothing may reach those. Plans lose their shop as they are published. Objects lie beside their pages. */
const ELSEWHERE = [
  '$schema',
  'carrier',
  'content',
  'httpcrypt',
  'keyServer',
  'keyServerTokenFile',
  'out',
  'publish',
  'reading',
  'recipient',
  'subscribe',
  'timestampBy',
] as const;

/** Settings of the publisher's own configuration, but for what is elsewhere. `source` is absolute. */
export type SiteSettings = Omit<ConfigurationInput, (typeof ELSEWHERE)[number]>;

const ANY_SITE = 'site.example';

export const openExample = () => openProgramFolder('../examples/newspaper', import.meta.url);

/**
 * The settings for a directory: those of the `wispr.json` in it, or of the one above whose source it is; otherwise the whole directory is one set.
 *
 * @throws PublishError if the configuration is wrong
 */
export async function chooseSite(directory: string = openExample().folder): Promise<SiteSettings> {
  const place = resolve(directory);
  const inside = join(place, CONFIGURATION_FILE);
  if (existsSync(inside)) return settingsOf(inside, await readConfiguration(inside));
  const above = nearestAbove(place);
  const configuration = above && (await readConfiguration(above));
  if (configuration && resolve(dirname(above), configuration.source) === place) return settingsOf(above, configuration);
  return { site: ANY_SITE, source: place, name: basename(place).slice(0, 100) || ANY_SITE };
}

function nearestAbove(place: string): string | undefined {
  const above = dirname(place);
  if (above === place) return undefined;
  const file = join(above, CONFIGURATION_FILE);
  return existsSync(file) ? file : nearestAbove(above);
}

function settingsOf(file: string, configuration: Configuration): SiteSettings {
  const here = (path: string) => resolve(dirname(file), path);
  const entries = Object.entries(configuration).filter(([name]) => !ELSEWHERE.some((each) => each === name));
  const settings = Object.fromEntries(entries) as Omit<Configuration, (typeof ELSEWHERE)[number]>;
  const { template, ...fallback } = settings.fallback;
  const withTemplate = { ...fallback, ...(template !== undefined && { template: here(template) }) };
  return { ...settings, fallback: withTemplate, source: here(settings.source) };
}

/** Bins go by the first 16 bits. */
const LAST_BIN = 0xffff;

/** The path of every document that a workspace has published, in their order, with the URL path of its object. */
export function publishedObjects(workspace: string): Map<string, string> {
  using index = openIndexReadOnly(workspaceOf(join(workspace, CONFIGURATION_FILE)).database);
  const objects = index
    .documentsInBins(0, LAST_BIN)
    .map(({ path, head }): [string, string] => [path, targetUrlPath(headTargetOf(path), head)]);
  return new Map(objects.sort(([a], [b]) => (a < b ? -1 : 1)));
}
