/** An invitation as its link says it, and as this browser keeps it: docs/spec/web-reader.md, "Key files". */
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { type DocumentKeys, MAXIMUM_SETS_WANTED } from '../../core/keys/document-keys.ts';
import {
  INVITATION_SALT_LENGTH,
  INVITATION_SECRET_LENGTH,
  type KeyFileContext,
  keyFilePlaceOf,
  openKeyFile,
} from '../../core/keys/key-file.ts';
import { isKeyId, type KeyId } from '../../core/keys/key-id.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { documentTarget } from '../../core/reading/local-target.ts';
import { KEY_FILES_PATH } from '../../core/site/path.ts';

/** Makes the secret out of a password: web-reader/password/main.ts. */
export type Stretch = (password: string, salt: Uint8Array) => Uint8Array;

/** Mail programs and people leave full stops, brackets and quotes behind a link. */
const VALUE = /^[\w-]+/;

/** The longest wait for a key file, also on a slow line. In milliseconds. */
const PATIENCE = 45_000;

/** What stands behind `#`. */
export interface Fragment {
  readonly invitation: { readonly secret: Uint8Array } | { readonly salt: Uint8Array } | 'broken' | undefined;
  /** Where the reader wanted to go: path, query and fragment here. */
  readonly to: string;
  /** Sets that are wanted. */
  readonly sets: readonly KeyId[];
}

/** What is kept of an invitation: the secret itself is not. */
export interface KeptInvitation {
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
export async function keep(secret: Uint8Array, context: KeyFileContext): Promise<KeptInvitation> {
  const { name, key } = await keyFilePlaceOf(secret, context);
  const algorithm = { name: 'HMAC', hash: 'SHA-512' };
  const handle = await crypto.subtle.importKey('raw', key as Uint8Array<ArrayBuffer>, algorithm, false, ['sign']);
  return { name, key: handle };
}

/** Whether what was kept is an invitation: published scripts can write there. */
export function isKept(value: unknown): value is KeptInvitation {
  const { name, key } = (value ?? {}) as Partial<KeptInvitation>;
  return fromBase64url(name, 16) !== undefined && key instanceof CryptoKey;
}

/**
 * Fetches the keys of an invitation anew.
 *
 * @returns `undefined` where the host has no such file: the link is not good, or the invitation was removed
 * @throws TypeError, DOMException where the network fails; KeyError `key-file-malformed`
 */
export async function fetchKeys(
  { name, key }: KeptInvitation,
  context: KeyFileContext,
): Promise<DocumentKeys | undefined> {
  const signal = AbortSignal.timeout(PATIENCE);
  const answer = await fetch(KEY_FILES_PATH + name, { cache: 'no-store', credentials: 'omit', signal });
  if (answer.status === 404 || answer.status === 410) return undefined;
  if (!answer.ok || answer.body === null) throw new TypeError(`the host answered ${answer.status}`);
  const file = await new ByteReader(piecesOf(answer.body)).readUpTo(MESSAGE_LIMITS.keyFile + 1);
  const handle = async (data: Uint8Array) =>
    new Uint8Array(await crypto.subtle.sign('HMAC', key, data as Uint8Array<ArrayBuffer>));
  return openKeyFile(file, handle, context);
}

/** What a host sends beyond what is read is let go. */
async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  const reader = body.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
