/**
 * What a workspace remembers of what was published from it, in a small file of its own: the index may be lost, the output may be put back from a
 * copy, and what was withdrawn stays so all the same.
 */
import { fromUtf8, utf8 } from '../core/encoding/bytes.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/encoding/canonical-json.ts';
import { isHexDigest } from '../core/encoding/digest.ts';
import type { RootMetadata } from '../core/publication/metadata.ts';
import { areWithdrawals, countingWithdrawals } from '../core/publication/withdrawals.ts';
import { PublishError } from './errors.ts';
import { readIfThere, replaceFile } from './keys/file-update.ts';
import { type EarlierLast, fromEarlier } from './last-published-earlier.ts';
import { type KnownPlace, type LastPublished, NOTHING, type PublishedSnapshot } from './published-places.ts';
import type { Workspace } from './workspace.ts';

/** @throws PublishError `key-store-damaged`: to begin anew unasked would be to forget */
export async function readLastPublished({
  lastPublished: file,
}: Pick<Workspace, 'lastPublished'>): Promise<LastPublished> {
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
 * Writes what changed, as one whole. Nobody else may be at work in the workspace.
 *
 * @throws PublishError `key-store-damaged`, `output-failed`
 */
export async function rememberPublished(
  workspace: Workspace,
  change: (last: LastPublished) => LastPublished,
): Promise<LastPublished> {
  const before = await readLastPublished(workspace);
  const after = change(before);
  const text = encode(after);
  if (text !== encode(before)) await replaceFile(workspace.lastPublished, utf8(text));
  return after;
}

function encode({ current, places, keyServer, highest, withdrawn, elsewhere }: LastPublished): string {
  const groups = elsewhere.map(({ keys, versions }) => ({ keys, versions }));
  const some = <One>(list: readonly One[]) => (list.length > 0 ? list : undefined);
  const all = places.map(({ target, publication, begun, owed }) => {
    return { target, publication, begun: some(begun), owed: some(owed) };
  });
  const told = { told: keyServer.told, owed: some(keyServer.owed) };
  return `${JSON.stringify({ current, places: all, keyServer: told, highest, withdrawn, elsewhere: groups })}\n`;
}

/** What is empty is left out. Earlier versions of wispr wrote another form, which has no `places`. */
function parse(bytes: Uint8Array): LastPublished | undefined {
  try {
    const value = JSON.parse(fromUtf8(bytes) ?? '') as Json;
    if (!isJsonObject(value)) return undefined;
    return value.places === undefined ? parseEarlier(value) : parseNow(value);
  } catch {
    return undefined;
  }
}

function parseNow({
  current,
  places,
  keyServer,
  highest,
  withdrawn,
  elsewhere,
}: JsonObject): LastPublished | undefined {
  if (!Array.isArray(places) || !isJsonObject(keyServer)) return undefined;
  const known = places.map(parsePlace);
  const { told, owed = [] } = keyServer;
  const isGood =
    (current === undefined || (isPlace(current) && known.some((place) => place?.target === current))) &&
    known.every((place) => place !== undefined) &&
    new Set(known.map(({ target }) => target)).size === known.length &&
    [told, highest].every((number) => Number.isSafeInteger(number)) &&
    [withdrawn, owed].every(areVersions) &&
    areWithdrawals(elsewhere);
  const last = { current, places: known, keyServer: { told, owed }, highest, withdrawn, elsewhere };
  return isGood ? (last as unknown as LastPublished) : undefined;
}

function parsePlace(value: Json): KnownPlace | undefined {
  if (!isJsonObject(value)) return undefined;
  const { target, publication, begun = [], owed = [] } = value;
  const isGood =
    isPlace(target) &&
    (publication === undefined || isPublished(publication)) &&
    Array.isArray(begun) &&
    begun.every(isPublished) &&
    areVersions(owed);
  return isGood ? ({ target, publication, begun, owed } as unknown as KnownPlace) : undefined;
}

/** Without `elsewhere` and `publication` at first; `begun` was one publication, at the target, before it was a list, each with its target. */
function parseEarlier(value: JsonObject): LastPublished | undefined {
  const { target, withdrawn, elsewhere = [], publication, begun: given = [], unfinished = [] } = value;
  const begun = isPublished(given) ? [{ ...given, target }] : given;
  const isGood =
    isPlace(target) &&
    [withdrawn, unfinished].every(areVersions) &&
    areWithdrawals(elsewhere) &&
    (publication === undefined || isPublished(publication)) &&
    Array.isArray(begun) &&
    begun.every((each) => isJsonObject(each) && isPublished(each) && isPlace(each.target));
  const last = { target, withdrawn, elsewhere, publication, begun, unfinished };
  return isGood ? fromEarlier(last as unknown as EarlierLast) : undefined;
}

function isPlace(value: Json | undefined): boolean {
  return value === null || typeof value === 'string';
}

function areVersions(value: Json | undefined): boolean {
  return Array.isArray(value) && value.every((version) => Number.isSafeInteger(version));
}

function isPublished(value: Json): value is JsonObject & PublishedSnapshot {
  return (
    isJsonObject(value) &&
    Number.isSafeInteger(value.version) &&
    [value.root, value.timestamp].every((each) => each === undefined || Number.isSafeInteger(each)) &&
    typeof value.sha256 === 'string' &&
    isHexDigest(value.sha256)
  );
}
