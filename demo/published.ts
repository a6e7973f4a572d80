/** Which documents lie in a protected site, by the names of their objects. */
import { readdir } from 'node:fs/promises';
import { relative } from 'node:path';
import { urlPathOf } from '../core/site/path.ts';

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
