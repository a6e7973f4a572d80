/** Which site the demonstration publishes, and under which settings. */
import { existsSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { urlPathOf } from '../core/site/path.ts';
import { readConfiguration } from '../publisher/workspace/configuration/read.ts';
import type { ConfigurationInput } from '../publisher/workspace/configuration/schema.ts';

/** What the publisher's own configuration would say, but for the addresses, which are this machine's. */
export type SiteSettings = Omit<
  ConfigurationInput,
  'content' | 'keyServer' | 'out' | 'reading' | '$schema' | 'recipient' | 'subscribe'
>;

const EXAMPLE = fileURLToPath(new URL('../examples/newspaper', import.meta.url));
const ANY_SITE = 'demo.example';

/**
 * The settings for `--site DIR`: those of the `wispr.json` in it if there is one, otherwise the whole directory as one set.
 *
 * @throws Error if there is no such directory; PublishError if its configuration is wrong
 */
export async function chooseSite(directory: string = EXAMPLE): Promise<SiteSettings> {
  if (!existsSync(directory) || !statSync(directory).isDirectory())
    throw new Error(`there is no directory ${directory}`);
  const file = resolve(directory, 'wispr.json');
  if (!existsSync(file)) return { site: ANY_SITE, source: resolve(directory), name: directory };
  // No shop is behind an example's address for subscribing.
  const { $schema, content, keyServer, out, reading, recipient, subscribe, ...settings } =
    await readConfiguration(file);
  const { template } = settings.fallback;
  const fallback = {
    ...settings.fallback,
    ...(template !== undefined && { template: resolve(dirname(file), template) }),
  };
  return { ...settings, fallback, source: join(dirname(file), settings.source) };
}

const OBJECT_NAME = /^[0-9a-f]{64}\.(.+)\.protected$/;

/** The path of every document, in their order, with the URL path of its object. */
export async function publishedObjects(out: string): Promise<Map<string, string>> {
  const entries = await readdir(out, { recursive: true, withFileTypes: true });
  const objects = entries.flatMap((entry): [string, string][] => {
    const [, name] = OBJECT_NAME.exec(entry.name) ?? [];
    if (name === undefined) return [];
    const directory = `/${relative(out, entry.parentPath)}`.replace(/\/$/, '');
    return [[`${directory}/${name}`, urlPathOf(`${directory}/${entry.name}`)]];
  });
  return new Map(objects.sort(([a], [b]) => (a < b ? -1 : 1)));
}
