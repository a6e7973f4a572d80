/** An invitation as its link says it, and as this browser keeps it: docs/spec/web-reader.md, "Key files". */
import { isKeyId, type KeyId } from '../../core/crypto/key-id.ts';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { MAXIMUM_SETS_WANTED } from '../../core/keys/document-keys.ts';
import {
  INVITATION_SALT_LENGTH,
  INVITATION_SECRET_LENGTH,
  type KeyFileContext,
  keyFileAddressOf,
} from '../../core/keys/key-file.ts';
import { documentTarget } from '../../reading/local-target.ts';
import type { StoredInvitation } from '../key-file.ts';
import { importHandle } from '../store.ts';

/** Makes the secret out of a password: web-reader/password/main.ts. */
export type Stretch = (password: string, salt: Uint8Array) => Uint8Array;

/** Value without the full stops, brackets and quotes that mail programs and people leave behind a link. */
const VALUE = /^[\w-]+/;

/** Parts of the address behind `#`. */
export interface Fragment {
  readonly invitation: { readonly secret: Uint8Array } | { readonly salt: Uint8Array } | 'broken' | undefined;
  /** Place to which the reader wanted to go: path, query and fragment here. */
  readonly to: string;
  /** Sets that are wanted. */
  readonly sets: readonly KeyId[];
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
