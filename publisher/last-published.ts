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
  /** Those that may be out besides, in the order in which they were begun: later ones there, and any at other targets. */
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

/** Of {@link LastPublished.begun}, the last. */
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
  const [target, publication] = [
    news.target === undefined ? before.target : news.target,
    news.publication ?? before.publication,
  ];
  const after: LastPublished = {
    target,
    withdrawn: highestVersions([...before.withdrawn, ...(news.withdrawn ?? [])], PUBLICATION_LIMITS.withdrawnKept),
    elsewhere: joinWithdrawals([...before.elsewhere, ...(news.elsewhere ?? [])]),
    publication,
    begun: maybeOut({ target, publication, begun: [...before.begun, ...(news.begun ?? [])] }),
    unfinished: highestVersions(news.unfinished ?? before.unfinished, PUBLICATION_LIMITS.withdrawnKept),
  };
  await write(workspace, before, after);
}

async function write({ lastPublished }: Workspace, before: LastPublished, after: LastPublished): Promise<void> {
  const text = encode(after);
  if (text !== encode(before)) await replaceFile(lastPublished, utf8(text));
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
  const last = await readLastPublished(workspace);
  const found = last.begun.find((one) => one.version === version && one.target === target);
  if (found === undefined) return;
  if (last.target !== target && (last.publication?.version ?? 0) >= version)
    return rememberSettled(workspace, version, target); // what was published last stays that
  const { target: _, ...publication } = found;
  await rememberPublished(workspace, { target, publication });
}

/**
 * Remembers that it is known by now whether a publication is at a target to which it was on its way. Nobody else may be at work in the workspace.
 *
 * @throws PublishError `key-store-damaged`, `output-failed`
 */
export async function rememberSettled(workspace: Workspace, version: number, target: string): Promise<void> {
  const last = await readLastPublished(workspace);
  const begun = last.begun.filter((one) => one.version !== version || one.target !== target);
  await write(workspace, last, { ...last, begun });
}

/** The highest number that others may know a publication by: the output may be put back from before. 0 where there is none. */
export function highestKnown({ publication, begun, withdrawn }: LastPublished): number {
  return Math.max(publication?.version ?? 0, ...begun.map(({ version }) => version), ...withdrawn);
}

/**
 * Where a publication is, or may be: that which is to be confirmed, or of which a version is to be withdrawn. More than one place only for the latter.
 *
 * @returns names of targets, or `null` for the output itself, the last first; none where nothing was published yet
 */
export function placesOf({ target, publication, begun }: LastPublished, withdraw?: number): (string | null)[] {
  const own = target !== null || publication ? [target] : [];
  const usual = own.length > 0 ? own : begun.slice(-1).map((one) => one.target);
  if (withdraw === undefined) return usual;
  const isKnown = publication !== undefined && withdraw <= publication.version;
  const higher = begun.filter(({ version }) => version >= withdraw);
  const wanted = isKnown ? withdraw : Math.min(...higher.map(({ version }) => version));
  const maybe = higher.filter(({ version }) => version === wanted).map((one) => one.target);
  if (isKnown) return [...own, ...maybe.reverse()];
  return maybe.length > 0 ? maybe.reverse() : usual;
}

/** What is known of one target: what was published last is, if it was published there. */
export function knownAt(last: LastPublished, target: string): LastPublished {
  const publication = last.target === target ? last.publication : undefined;
  return { ...last, target, publication, begun: last.begun.filter((one) => one.target === target) };
}

/** What was published last, where a target shows this snapshot: what may have been out is, if it is that. */
export function lastBy(
  { publication, begun }: Pick<LastPublished, 'publication' | 'begun'>,
  shown: { readonly sha256?: string | undefined } | undefined,
): PublishedSnapshot | undefined {
  return begun.find(({ sha256 }) => sha256 === shown?.sha256) ?? publication;
}

/** Each as it was said last. What was published at a target since is all that is out there. */
function maybeOut({ target, publication, begun }: Pick<LastPublished, 'target' | 'publication' | 'begun'>) {
  const each = new Map(begun.map((one) => [`${one.version} ${one.target}`, one]));
  const isPast = (one: BegunPublication) => one.target === target && one.version <= (publication?.version ?? 0);
  return [...each.values()].filter((one) => !isPast(one)).slice(-BEGUN_KEPT);
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
