/** An invitation as its link says it, and as this browser keeps it: docs/spec/web-reader.md, "Key files". */
import { isKeyId, type KeyId } from '../../core/crypto/key-id.ts';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { type DocumentKeys, MAXIMUM_SETS_WANTED } from '../../core/keys/document-keys.ts';
import {
  INVITATION_SALT_LENGTH,
  INVITATION_SECRET_LENGTH,
  type KeyFileContext,
  keyFileAddressOf,
  openKeyFile,
} from '../../core/keys/key-file.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { KEY_FILES_PATH } from '../../core/site/path.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { fetchSmall } from '../fetching.ts';
import { importHandle, macOf } from '../store.ts';

/** Makes the secret out of a password: web-reader/password/main.ts. */
export type Stretch = (password: string, salt: Uint8Array) => Uint8Array;

/** Value without the full stops, brackets and quotes that mail programs and people leave behind a link. */
const VALUE = /^[\w-]+/;

/** The longest wait for a key file, also on a slow line. In milliseconds. */
const PATIENCE = 45_000;

/** Parts of the address behind `#`. */
export interface Fragment {
  readonly invitation: { readonly secret: Uint8Array } | { readonly salt: Uint8Array } | 'broken' | undefined;
  /** Where the reader wanted to go: path, query and fragment here. */
  readonly to: string;
  /** Sets that are wanted. */
  readonly sets: readonly KeyId[];
}

/** Stored part of an invitation, without its secret. */
export interface StoredInvitation {
  /** Of its key file. */
  readonly name: string;
  /** HMAC with SHA-512, not extractable: a handle of what opens the file. */
  readonly key: CryptoKey;
}

/** @param hash - of an address; fallback pages put the rest of theirs behind `#to=/…` as it is */
export function parseFragment(hash: string, origin: string): Fragment {
  if (hash.startsWith('#to=/')) return { invitation: undefined, to: documentTarget(hash.slice(4), origin), sets: [] };
  const members = new URLSearchParams(hash.slice(1));
  const sets = (members.get('sets') ?? '').split(',').filter(isKeyId).slice(0, MAXIMUM_SETS_WANTED);
  return { invitation: invitationIn(members), to: documentTarget(members.get('to') ?? '', origin), sets };
}

function invitationIn(members: URLSearchParams): Fragment['invitation'] {
  const given = [members.get('i'), members.get('p')];
  if (given.every((each) => each === null)) return undefined;
  const [typed, password] = given.map((each) => VALUE.exec(each ?? '')?.[0]);
  const secret = fromBase64url(typed, INVITATION_SECRET_LENGTH);
  const salt = fromBase64url(password, INVITATION_SALT_LENGTH);
  return secret ? { secret } : salt ? { salt } : 'broken';
}

/** Forgets the secret, and keeps what it is for. */
export async function deriveInvitation(secret: Uint8Array, context: KeyFileContext): Promise<StoredInvitation> {
  const { name, key } = await keyFileAddressOf(secret, context);
  return { name, key: await importHandle(key) };
}

/** Whether what was stored is an invitation: published scripts can write there. */
export function isStoredInvitation(value: unknown): value is StoredInvitation {
  const { name, key } = (value ?? {}) as Partial<StoredInvitation>;
  return fromBase64url(name, 16) !== undefined && key instanceof CryptoKey;
}

/**
 * Fetches the keys of an invitation.
 *
 * @returns `undefined` where the host has no such file: the link is not good, or the invitation was removed
 * @throws ReadingError `content-host-unreachable`, `content-host-answer`; KeyError `key-file-malformed`
 */
export async function fetchKeys(
  { name, key }: StoredInvitation,
  context: KeyFileContext,
): Promise<DocumentKeys | undefined> {
  const file = await fetchSmall({
    origin: location.origin,
    path: KEY_FILES_PATH + name,
    maximumLength: MESSAGE_LIMITS.keyFile,
    milliseconds: PATIENCE,
    cache: 'no-store',
  });
  return file && openKeyFile(file, macOf(key), context);
}
