/**
 * What a machine that signs timestamps has signed last, in a small file beside its key: so that whoever can write to the directory of the
 * metadata cannot have an old publication confirmed.
 */
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { isJsonObject, type Json } from '../../core/encoding/canonical-json.ts';
import { PublishError } from '../errors.ts';
import { readIfThere, replaceFile } from '../keys/file-update.ts';

/** Versions of the last publication and timestamp, and all that was ever withdrawn with the key. */
export interface LastSeen {
  /** The key's id; earlier versions of wispr did not write it. */
  readonly key: string | undefined;
  readonly publication: number;
  readonly timestamp: number;
  readonly withdrawn: readonly number[];
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

export function writeLastSeen(file: string, { key, publication, timestamp, withdrawn }: LastSeen): Promise<void> {
  return replaceFile(file, utf8(`${JSON.stringify({ key, publication, timestamp, withdrawn })}\n`));
}

function parse(bytes: Uint8Array): LastSeen | undefined {
  const isNumber = (value: Json | undefined) => Number.isSafeInteger(value);
  try {
    const value = JSON.parse(fromUtf8(bytes) ?? '') as Json;
    if (!isJsonObject(value) || !isNumber(value.publication) || !isNumber(value.timestamp)) return undefined;
    const { key, withdrawn } = value;
    if (key !== undefined && typeof key !== 'string') return undefined;
    return Array.isArray(withdrawn) && withdrawn.every(isNumber) ? (value as unknown as LastSeen) : undefined;
  } catch {
    return undefined;
  }
}
