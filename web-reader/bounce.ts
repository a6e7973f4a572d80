/** Addresses of the bounce between content origin and vault: docs/spec/web-reader.md, "The bounce". The request is the fragment; keys come back in the body of a form. */
import { isKeyId, type KeyId } from '../core/crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../core/encoding/base64url.ts';
import { MAXIMUM_SETS_WANTED } from '../core/keys/document-keys.ts';
import { X25519_KEY_LENGTH } from '../core/primitives/webcrypto-x25519.ts';
import { KEYS_PAGE } from '../core/site/path.ts';
import { documentTarget } from '../reading/local-target.ts';

export interface KeysWanted {
  /** X25519 public key, 32 bytes. */
  readonly key: Uint8Array;
  readonly sets: readonly KeyId[];
  /** Path, query and fragment at the content origin. */
  readonly to: string;
}

/** Query of a bounce that asks the reader for nothing: a reader who is not signed in is led back without keys. */
export const SILENT = '?silent=yes';

/** @param vault - origin */
export function addressOfVault(vault: string, { key, sets, to }: KeysWanted, isSilent = false): string {
  const some = sets.length > 0 ? { sets: sets.slice(0, MAXIMUM_SETS_WANTED).join(',') } : {};
  return `${vault}${KEYS_PAGE}${isSilent ? SILENT : ''}#${new URLSearchParams({ key: toBase64url(key), ...some, to })}`;
}

/**
 * @param fragment - `location.hash`
 * @param contentOrigin - where `to` leads
 * @returns `undefined` where nothing is asked for; a set id that is none is left out
 */
export function parseWanted(fragment: string, contentOrigin: string): KeysWanted | undefined {
  const members = new URLSearchParams(fragment.slice(1));
  const key = fromBase64url(members.get('key'), X25519_KEY_LENGTH);
  const sets = (members.get('sets') ?? '').split(',').filter(isKeyId);
  const to = documentTarget(members.get('to') ?? '', contentOrigin);
  return key && { key, sets: [...new Set(sets)].slice(0, MAXIMUM_SETS_WANTED), to };
}
