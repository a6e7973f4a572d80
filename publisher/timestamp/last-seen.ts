/**
 * What a machine that signs timestamps has signed last, in a small file beside its key: so that whoever can write to the directory of the
 * metadata cannot have an old publication confirmed.
 */
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { isJsonObject, type Json } from '../../core/encoding/canonical-json.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { highestVersions } from '../../core/publication/withdrawals.ts';
import { PublishError } from '../errors.ts';
import { readIfThere, replaceFile } from '../keys/file-update.ts';

/** Versions of the last publication and timestamp, and what is withdrawn: whoever stole the key can withdraw anything, so by whom counts. */
export interface LastSeen {
  /** The key's id; earlier versions of wispr did not write it. */
  readonly key: string | undefined;
  readonly publication: number;
  readonly timestamp: number;
  /** What this machine has withdrawn with the key. Earlier versions of wispr wrote here what was found as well. */
  readonly withdrawn: readonly number[];
  /** What this machine has withdrawn with whatever key; earlier versions of wispr did not write it. */
  readonly own?: readonly number[];
  /** What was found in timestamps by the key, and stays withdrawn too; earlier versions of wispr did not write it. */
  readonly elsewhere?: readonly number[];
}

/** What a machine has just signed. */
export interface JustSigned {
  readonly key: string;
  readonly publication: number;
  readonly timestamp: number;
  /** All that its timestamp withdraws. */
  readonly named: readonly number[];
  /** The version that it was told to withdraw. */
  readonly withdraw: number | undefined;
}

/** Whether what a machine remembers is of this key. */
export function isOfKey({ key }: LastSeen, keyid: string): boolean {
  return key === undefined || key === keyid;
}

/** What this machine has withdrawn: with the key, as far as is known, and with those before it. */
export function withdrawnHere(last: LastSeen | undefined, keyid: string): number[] {
  return last ? [...(last.own ?? []), ...(isOfKey(last, keyid) ? last.withdrawn : [])] : [];
}

/** What was found, and stays withdrawn for as long as the key is the same. */
export function withdrawnElsewhere(last: LastSeen | undefined, keyid: string): readonly number[] {
  return last && isOfKey(last, keyid) ? (last.elsewhere ?? []) : [];
}

/** What is to be remembered then: what was withdrawn here for good, whatever a timestamp has room for. */
export function lastSeenAfter(
  last: LastSeen | undefined,
  { key, publication, timestamp, named, withdraw }: JustSigned,
): LastSeen {
  const now = withdraw === undefined ? [] : [withdraw];
  const kept = (versions: readonly number[]) => {
    const there = [...versions, ...now].filter((version) => version <= publication);
    return highestVersions(there, PUBLICATION_LIMITS.withdrawnKept);
  };
  const withdrawn = kept(last && isOfKey(last, key) ? last.withdrawn : []);
  const own = kept(last?.own ?? []);
  const elsewhere = named.filter((version) => !withdrawn.includes(version) && !own.includes(version));
  return { key, publication, timestamp, withdrawn, own, elsewhere };
}

/** Where it lies. */
export function lastSeenFile(keyFile: string): string {
  return `${keyFile}.last`;
}

/** @throws PublishError `key-store-damaged`: to begin anew unasked would be to forget */
export async function readLastSeen(file: string): Promise<LastSeen | undefined> {
  const bytes = await readIfThere(file);
  const last = bytes && parse(bytes);
  if (bytes === undefined || last !== undefined) return last;
  throw new PublishError('key-store-damaged', `${file} is damaged`, {
    hint: 'see that the newest publication is in place, then remove this file',
  });
}

export function writeLastSeen(file: string, last: LastSeen): Promise<void> {
  return replaceFile(file, utf8(`${JSON.stringify(last)}\n`));
}

function parse(bytes: Uint8Array): LastSeen | undefined {
  const isNumber = (value: Json | undefined) => Number.isSafeInteger(value);
  try {
    const value = JSON.parse(fromUtf8(bytes) ?? '') as Json;
    if (!isJsonObject(value) || !isNumber(value.publication) || !isNumber(value.timestamp)) return undefined;
    const { key, withdrawn, own = [], elsewhere = [] } = value;
    if (key !== undefined && typeof key !== 'string') return undefined;
    const areNumbers = (versions: Json | undefined) => Array.isArray(versions) && versions.every(isNumber);
    return [withdrawn, own, elsewhere].every(areNumbers) ? (value as unknown as LastSeen) : undefined;
  } catch {
    return undefined;
  }
}
