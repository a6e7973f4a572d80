/**
 * What a workspace remembers of what was published from it, in a small file of its own: the index may be lost, the output may be put back from a
 * copy, and what was withdrawn stays so all the same.
 */
import { fromUtf8, utf8 } from '../core/encoding/bytes.ts';
import { isJsonObject, type Json } from '../core/encoding/canonical-json.ts';
import { PUBLICATION_LIMITS } from '../core/publication/limits.ts';
import { highestVersions } from '../core/publication/withdrawals.ts';
import { PublishError } from './errors.ts';
import { readIfThere, replaceFile } from './keys/file-update.ts';
import type { Workspace } from './workspace.ts';

export interface LastPublished {
  /** The target's name; `null` where the output itself is served, or where nothing was published yet. */
  readonly target: string | null;
  /** All versions that were ever withdrawn, as far as anybody here learnt of it: the highest. */
  readonly withdrawn: readonly number[];
}

const NOTHING: LastPublished = { target: null, withdrawn: [] };

/** @throws PublishError `key-store-damaged`: to begin anew unasked would be to forget */
export async function readLastPublished({ lastPublished: file }: Workspace): Promise<LastPublished> {
  const bytes = await readIfThere(file);
  if (bytes === undefined) return NOTHING;
  const last = parse(bytes);
  if (last) return last;
  throw new PublishError('key-store-damaged', `${file} is damaged`, {
    hint: 'remove it, and say again with "wispr withdraw" what "wispr keys list" does not show as withdrawn',
  });
}

/**
 * Adds what is new. Nobody else may be at work in the workspace.
 *
 * @throws PublishError `key-store-damaged`, `output-failed`
 */
export async function rememberPublished(workspace: Workspace, news: Partial<LastPublished>): Promise<void> {
  const before = await readLastPublished(workspace);
  const withdrawn = highestVersions([...before.withdrawn, ...(news.withdrawn ?? [])], PUBLICATION_LIMITS.withdrawnKept);
  const target = news.target === undefined ? before.target : news.target;
  const isSame = target === before.target && withdrawn.length === before.withdrawn.length;
  const text = `${JSON.stringify({ target, withdrawn })}\n`;
  if (!isSame || withdrawn.some((version) => !before.withdrawn.includes(version)))
    await replaceFile(workspace.lastPublished, utf8(text));
}

function parse(bytes: Uint8Array): LastPublished | undefined {
  try {
    const value = JSON.parse(fromUtf8(bytes) ?? '') as Json;
    if (!isJsonObject(value)) return undefined;
    const { target, withdrawn } = value;
    const isGood =
      (target === null || typeof target === 'string') &&
      Array.isArray(withdrawn) &&
      withdrawn.every((version) => Number.isSafeInteger(version));
    return isGood ? (value as unknown as LastPublished) : undefined;
  } catch {
    return undefined;
  }
}
