/** Which files of the output belong to a document, and whose a file is by its name: docs/spec/publication.md, sections 1 and 3. */
import { contentTargetOf, headTargetOf, targetFile } from '../../core/publication/names.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import type { FilesOf } from '../index/publisher-index.ts';
import { HASH_PREFIX } from '../site/names.ts';

/** The files with immutable names that a document has in the output, as paths there with a leading slash. */
export function immutableFilesOf({ path, head, content, form }: FilesOf): string[] {
  const object = form === 'carrier' ? [] : [targetFile(headTargetOf(path), head)];
  return content === undefined ? object : [...object, targetFile(contentTargetOf(path), content)];
}

/** What the name of a file says, if it is an immutable one. */
export interface ImmutableName {
  readonly hash: string;
  /** Path of the document that it belongs to, or would. */
  readonly path: string;
  /** Whether it is an object or a head; else it is content. */
  readonly isObject: boolean;
}

/** Takes the path of a file in the output apart. */
export function parseImmutableName(file: string): ImmutableName | undefined {
  const start = file.lastIndexOf('/') + 1;
  const name = file.slice(start);
  if (!HASH_PREFIX.test(name)) return undefined;
  const rest = name.slice(65);
  const isObject = rest.endsWith(OBJECT_SUFFIX);
  const stem = isObject ? rest.slice(0, -OBJECT_SUFFIX.length) : rest;
  return stem === '' ? undefined : { hash: name.slice(0, 64), path: file.slice(0, start) + stem, isObject };
}
