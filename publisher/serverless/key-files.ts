/** The key files of a site without a key server: one for each invitation, docs/spec/web-reader.md, "Key files". */
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { type DocumentKey, type DocumentKeys, encodeDocumentKeys } from '../../core/keys/document-keys.ts';
import { KeyError } from '../../core/keys/errors.ts';
import {
  encodeKeyFile,
  type KeyFileAddress,
  type KeyFileContext,
  keyFileAddressOf,
  MAXIMUM_KEYS_PER_FILE,
  openKeyFile,
} from '../../core/keys/key-file.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import { KEY_FILES_PATH } from '../../core/site/path.ts';
import { PublishError } from '../errors.ts';
import type { Invitation, KeyStoreContents } from '../keys/key-store.ts';
import type { PublicationSource } from '../publication/sources.ts';

const DAY = 86_400;

const NAME = /^[\w-]{22}$/;

export function isKeyFilePath(path: string): boolean {
  return path.startsWith(KEY_FILES_PATH) && NAME.test(path.slice(KEY_FILES_PATH.length));
}

/**
 * Returns the period of keys that are given out now: from a day before this month to the end of the month after next, in UTC. So files stay as
 * they are for a month, and a publisher has two.
 *
 * @param now - seconds since 1970
 * @returns seconds since 1970, inclusive
 */
export function keyPeriodOf(now: number): Pick<DocumentKey, 'notBefore' | 'notAfter'> {
  const date = new Date(now * 1000);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { notBefore: Date.UTC(year, month) / 1000 - DAY, notAfter: Date.UTC(year, month + 3) / 1000 - 1 };
}

/**
 * Makes the key files that there have to be.
 *
 * @param there - where the previous key files are: a file with the same keys is kept
 * @param now - seconds since 1970
 * @returns by path; `undefined` where the previous file is kept
 * @throws PublishError `argument-invalid` for an invitation to more sets than a file can have keys
 */
export async function keyFilesOf(
  { invitations, kept, sets }: Pick<KeyStoreContents, 'invitations' | 'kept' | 'sets'>,
  context: KeyFileContext,
  there: PublicationSource,
  now: number,
): Promise<Map<string, Uint8Array | undefined>> {
  const pairs = [...sets, ...kept.map(({ name, key }) => [name, key] as const)];
  const named = await Promise.all(pairs.map(async ([name, key]) => ({ name, key, id: await keyIdOf('set', key) })));
  named.sort((a, b) => (a.id < b.id ? -1 : 1));
  const files = new Map<string, Uint8Array | undefined>();
  for (const invitation of invitations.filter(({ until = now }) => now <= until)) {
    const keys = keysFor(invitation, named, now);
    const place = await keyFileAddressOf(invitation.secret, context);
    const path = KEY_FILES_PATH + place.name;
    const before = await there.read(path, MESSAGE_LIMITS.keyFile);
    const isSame = before && (await isSameText(before, keys, place, context));
    files.set(path, isSame ? undefined : await encodeKeyFile(keys, place.key, context));
  }
  return files;
}

function keysFor(
  { name, sets: patterns, until = Number.POSITIVE_INFINITY }: Invitation,
  sets: readonly (Pick<DocumentKey, 'id' | 'key'> & { readonly name: string })[],
  now: number,
): DocumentKeys {
  const { notBefore, notAfter: end } = keyPeriodOf(now);
  const notAfter = Math.min(end, until);
  const keys = sets
    .filter((set) => patterns.some((pattern) => matchesPattern(pattern, set.name)))
    .map(({ id, key }) => ({ id, key, notAfter, notBefore }));
  if (keys.length <= MAXIMUM_KEYS_PER_FILE) return { keys, refused: [], time: now };
  const message = `${name} is invited to ${keys.length.toLocaleString('en')} sets, and a key file has room for ${MAXIMUM_KEYS_PER_FILE.toLocaleString('en')}`;
  throw new PublishError('argument-invalid', message);
}

/** Ignores the time of writing. */
async function isSameText(
  file: Uint8Array,
  keys: DocumentKeys,
  { key }: KeyFileAddress,
  context: KeyFileContext,
): Promise<boolean> {
  try {
    const before = await openKeyFile(file, key, context);
    return equalBytes(encodeDocumentKeys({ ...before, time: keys.time }), encodeDocumentKeys(keys));
  } catch (error) {
    if (error instanceof KeyError) return false;
    throw error;
  }
}
