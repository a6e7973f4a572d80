/**
 * What a workspace remembers of what was published from it, in a small file of its own: the index may be lost, the output may be put back from a
 * copy, and what was withdrawn stays so all the same.
 */
import { fromUtf8, utf8 } from '../core/encoding/bytes.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/encoding/canonical-json.ts';
import { isHexDigest } from '../core/encoding/digest.ts';
import { PUBLICATION_LIMITS } from '../core/publication/limits.ts';
import type { RootMetadata } from '../core/publication/metadata.ts';
import {
  areWithdrawals,
  countingWithdrawals,
  highestVersions,
  joinWithdrawals,
  type Withdrawal,
} from '../core/publication/withdrawals.ts';
import { PublishError } from './errors.ts';
import { readIfThere, replaceFile } from './keys/file-update.ts';
import type { Workspace } from './workspace.ts';

/** A publication, by its snapshot. */
export interface PublishedSnapshot {
  readonly version: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** The version of the root under which readers have it; earlier versions of wispr did not write it. */
  readonly root?: number;
  /** The version of the last timestamp that was signed here to be shown for it; earlier versions of wispr did not write it. */
  readonly timestamp?: number;
}

export interface LastPublished {
  /** The target's name; `null` where the output itself is served, or where nothing was published yet. */
  readonly target: string | null;
  /** The versions that were withdrawn here: the highest. */
  readonly withdrawn: readonly number[];
  /** What was learned of besides, and whose keys have signed it: whoever stole a key can withdraw anything, until it is changed. */
  readonly elsewhere: readonly Withdrawal[];
  /** What was brought to the target. */
  readonly publication: PublishedSnapshot | undefined;
  /** A later one, whose timestamp was about to be put there: whoever ended that run, readers may have it. */
  readonly begun?: PublishedSnapshot | undefined;
  /** Of {@link withdrawn}, those of which it is not known that all who are to have them do: a run may have been interrupted. */
  readonly unfinished: readonly number[];
}

const NOTHING: LastPublished = {
  target: null,
  withdrawn: [],
  elsewhere: [],
  publication: undefined,
  begun: undefined,
  unfinished: [],
};

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

/** All that is to stay withdrawn, as long as those who said so may sign. */
export function withdrawnUnder(root: RootMetadata, { withdrawn, elsewhere }: LastPublished = NOTHING): number[] {
  return [...withdrawn, ...countingWithdrawals(elsewhere, root).flatMap(({ versions }) => versions)];
}

/**
 * Adds what is new. Nobody else may be at work in the workspace.
 *
 * @throws PublishError `key-store-damaged`, `output-failed`
 */
export async function rememberPublished(workspace: Workspace, news: Partial<LastPublished>): Promise<void> {
  const before = await readLastPublished(workspace);
  const after: LastPublished = {
    target: news.target === undefined ? before.target : news.target,
    withdrawn: highestVersions([...before.withdrawn, ...(news.withdrawn ?? [])], PUBLICATION_LIMITS.withdrawnKept),
    elsewhere: joinWithdrawals([...before.elsewhere, ...(news.elsewhere ?? [])]),
    publication: news.publication ?? before.publication,
    begun: laterThan(news.publication ?? before.publication, news.begun ?? before.begun),
    unfinished: highestVersions(news.unfinished ?? before.unfinished, PUBLICATION_LIMITS.withdrawnKept),
  };
  const text = encode(after);
  if (text !== encode(before)) await replaceFile(workspace.lastPublished, utf8(text));
}

/**
 * Remembers that these withdrawals are where readers hear of them. Nobody else may be at work in the workspace.
 *
 * @param publication - what is out by that, where it was not known to be
 * @throws PublishError `key-store-damaged`, `output-failed`
 */
export async function rememberFinished(
  workspace: Workspace,
  versions: readonly number[],
  publication?: PublishedSnapshot,
): Promise<void> {
  const { unfinished } = await readLastPublished(workspace);
  await rememberPublished(workspace, {
    unfinished: unfinished.filter((version) => !versions.includes(version)),
    ...(publication && { publication }),
  });
}

function laterThan(publication: PublishedSnapshot | undefined, begun: PublishedSnapshot | undefined) {
  return begun && begun.version > (publication?.version ?? 0) ? begun : undefined;
}

function encode({ target, withdrawn, elsewhere, publication, begun, unfinished }: LastPublished): string {
  const groups = elsewhere.map(({ keys, versions }) => ({ keys, versions }));
  const more = unfinished.length > 0 ? { unfinished } : {};
  return `${JSON.stringify({ target, withdrawn, elsewhere: groups, publication, begun, ...more })}\n`;
}

/** Earlier versions of wispr wrote neither `elsewhere` nor `publication`, nor `begun` and `unfinished`, which are left out where they are empty. */
function parse(bytes: Uint8Array): LastPublished | undefined {
  try {
    const value = JSON.parse(fromUtf8(bytes) ?? '') as Json;
    if (!isJsonObject(value)) return undefined;
    const { target, withdrawn, elsewhere = [], publication, begun, unfinished = [] } = value;
    const isGood =
      (target === null || typeof target === 'string') &&
      [withdrawn, unfinished].every(areVersions) &&
      areWithdrawals(elsewhere) &&
      [publication, begun].every((each) => each === undefined || isPublished(each));
    const last = { target, withdrawn, elsewhere, publication, begun, unfinished };
    return isGood ? (last as unknown as LastPublished) : undefined;
  } catch {
    return undefined;
  }
}

function areVersions(value: Json | undefined): boolean {
  return Array.isArray(value) && value.every((version) => Number.isSafeInteger(version));
}

function isPublished(value: Json): value is JsonObject {
  return (
    isJsonObject(value) &&
    Number.isSafeInteger(value.version) &&
    [value.root, value.timestamp].every((each) => each === undefined || Number.isSafeInteger(each)) &&
    typeof value.sha256 === 'string' &&
    isHexDigest(value.sha256)
  );
}
