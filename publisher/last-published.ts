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

/** A publication whose timestamp was about to be put somewhere: whoever ended that run, readers may have it. */
export interface BegunPublication extends PublishedSnapshot {
  /** The target's name. */
  readonly target: string;
}

export interface LastPublished {
  /** The name of the target that has {@link publication}; `null` where the output itself is served, or where nothing was published yet. */
  readonly target: string | null;
  /** The versions that were withdrawn here: the highest. */
  readonly withdrawn: readonly number[];
  /** What was learned of besides, and whose keys have signed it: whoever stole a key can withdraw anything, until it is changed. */
  readonly elsewhere: readonly Withdrawal[];
  /** What was brought to the target. */
  readonly publication: PublishedSnapshot | undefined;
  /** Later ones that may be out, the lowest first: there, or at another target. */
  readonly begun: readonly BegunPublication[];
  /** Of {@link withdrawn}, those of which it is not known that all who are to have them do: a run may have been interrupted. */
  readonly unfinished: readonly number[];
}

const NOTHING: LastPublished = {
  target: null,
  withdrawn: [],
  elsewhere: [],
  publication: undefined,
  begun: [],
  unfinished: [],
};

/** Of {@link LastPublished.begun}, the highest. */
const BEGUN_KEPT = 16;

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
    begun: laterThan(news.publication ?? before.publication, [...before.begun, ...(news.begun ?? [])]),
    unfinished: highestVersions(news.unfinished ?? before.unfinished, PUBLICATION_LIMITS.withdrawnKept),
  };
  const text = encode(after);
  if (text !== encode(before)) await replaceFile(workspace.lastPublished, utf8(text));
}

/**
 * Remembers that these withdrawals are where readers hear of them. Nobody else may be at work in the workspace.
 *
 * @throws PublishError `key-store-damaged`, `output-failed`
 */
export async function rememberFinished(workspace: Workspace, versions: readonly number[]): Promise<void> {
  const { unfinished } = await readLastPublished(workspace);
  await rememberPublished(workspace, { unfinished: unfinished.filter((version) => !versions.includes(version)) });
}

/**
 * Remembers that a publication is out that may only have been, if it is one. Nobody else may be at work in the workspace.
 *
 * @throws PublishError `key-store-damaged`, `output-failed`
 */
export async function rememberOut(workspace: Workspace, version: number, target: string): Promise<void> {
  const { begun } = await readLastPublished(workspace);
  const found = begun.find((one) => one.version === version && one.target === target);
  if (found === undefined) return;
  const { target: _, ...publication } = found;
  await rememberPublished(workspace, { target, publication });
}

/**
 * Where the publication is, or may be, that is to be confirmed, or of which a version is to be withdrawn.
 *
 * @returns a target's name; `null`: the output itself; `undefined` where nothing was published yet
 */
export function placeOf({ target, publication, begun }: LastPublished, withdraw = 0): string | null | undefined {
  const isLater = publication === undefined || withdraw > publication.version;
  const maybe = isLater ? begun.find(({ version }) => version >= withdraw) : undefined;
  if (maybe) return maybe.target;
  return target !== null || publication ? target : undefined;
}

/** What was published last, where a target shows this snapshot: what may have been out is, if it is that. */
export function lastBy(
  { publication, begun }: LastPublished,
  shown: { readonly sha256?: string | undefined } | undefined,
): PublishedSnapshot | undefined {
  return begun.find(({ sha256 }) => sha256 === shown?.sha256) ?? publication;
}

/** The highest of those that are later, each as it was said last. */
function laterThan(
  publication: PublishedSnapshot | undefined,
  begun: readonly BegunPublication[],
): readonly BegunPublication[] {
  const each = new Map(begun.map((one) => [`${one.version} ${one.target}`, one]));
  const later = [...each.values()].filter(({ version }) => version > (publication?.version ?? 0));
  return later.sort((one, other) => one.version - other.version).slice(-BEGUN_KEPT);
}

function encode({ target, withdrawn, elsewhere, publication, begun, unfinished }: LastPublished): string {
  const groups = elsewhere.map(({ keys, versions }) => ({ keys, versions }));
  const more = { ...(begun.length > 0 && { begun }), ...(unfinished.length > 0 && { unfinished }) };
  return `${JSON.stringify({ target, withdrawn, elsewhere: groups, publication, ...more })}\n`;
}

/** Earlier versions of wispr wrote neither `elsewhere` nor `publication`, nor `begun` and `unfinished`, which are left out where they are empty. */
function parse(bytes: Uint8Array): LastPublished | undefined {
  try {
    const value = JSON.parse(fromUtf8(bytes) ?? '') as Json;
    if (!isJsonObject(value)) return undefined;
    const { target, withdrawn, elsewhere = [], publication, begun = [], unfinished = [] } = value;
    const isGood =
      (target === null || typeof target === 'string') &&
      [withdrawn, unfinished].every(areVersions) &&
      areWithdrawals(elsewhere) &&
      (publication === undefined || isPublished(publication)) &&
      Array.isArray(begun) &&
      begun.every((each) => isPublished(each) && typeof each.target === 'string');
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
