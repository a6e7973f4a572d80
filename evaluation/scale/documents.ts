/** Publishing very many tiny documents, and what is in the way of a reader who looks one of them up. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../bench/measure.ts';
import { NODE, WISPR } from '../../bench/processes.ts';
import { whatItTakes } from '../../bench/what-it-takes.ts';
import { inWorkspace, protectArguments, type Workspace } from '../../bench/workspace.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';

/** Bytes. */
export interface Read {
  /** Bytes from nothing to the first document's entry. */
  readonly coldBytes: number;
  /** Bytes that a further document fetches if its bin is not there yet. */
  readonly lookUpBytes: number;
}

const READER = fileURLToPath(new URL('reader.ts', import.meta.url));
/** Bytes of a document. */
const LENGTH = 200;
const IN_FOLDER = 1000;

/** Figures of one number of documents: seconds, bytes. */
export interface Published extends Read {
  readonly documents: number;
  readonly firstProcessor: number;
  /** Run with one document changed. */
  readonly changedProcessor: number;
  readonly changedBytes: number;
  /** Bytes of all signed metadata of the first publication. */
  readonly metadata: number;
}

/** The path of the document with this number. */
export function pathOf(number: number): string {
  return `/part-${Math.floor(number / IN_FOLDER)}/article-${number}.txt`;
}

/** Publishes twice, in a workspace of its own. */
export async function publish(documents: number): Promise<Published> {
  const fill = async (source: string) => write(source, documents);
  return inWorkspace('scale', fill, (workspace) => publishTwice(workspace, documents));
}

async function publishTwice(workspace: Workspace, documents: number): Promise<Published> {
  const { directory, source } = workspace;
  const protect = () => whatItTakes([WISPR, ...protectArguments(workspace)], directory);
  const protected_ = join(directory, 'protected');
  const first = await protect();
  const metadata = await bytesIn(join(protected_, METADATA_PATH));
  const read = JSON.parse(await runCommand(NODE, [READER, protected_, String(documents)])) as Read;
  const marked = await mark(directory);
  await writeFile(join(source, pathOf(0)), 'changed');
  const changed = await protect();
  const changedBytes = await bytesIn(protected_, marked);
  return {
    ...read,
    ...{ documents, metadata },
    ...{ firstProcessor: first.processor, changedProcessor: changed.processor, changedBytes },
  };
}

/** Writes one after the other: many at a time are no faster on a disk. */
function write(source: string, documents: number): void {
  for (let number = 0; number < documents; number++) {
    const path = join(source, pathOf(number));
    if (number % IN_FOLDER === 0) mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `Article ${number}. `.padEnd(LENGTH, 'lorem ipsum '));
  }
}

/** A file that is older than all that is written after it. */
async function mark(directory: string): Promise<string> {
  const file = join(directory, 'mark');
  await writeFile(file, '');
  return file;
}

/** @param since - only files that are newer than this one */
async function bytesIn(folder: string, since?: string): Promise<number> {
  const newer = since === undefined ? [] : ['-newer', since];
  const sum = `find "$@" -type f -printf '%s\\n' | awk '{ sum += $1 } END { print sum + 0 }'`;
  return Number(await runCommand('sh', ['-c', sum, 'sh', folder, ...newer]));
}
