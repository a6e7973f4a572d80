/** The keys of a site without a key server: docs/spec/web-reader.md, "Key files". */
import type { KeyId } from '../core/crypto/key-id.ts';
import { fromBase64url } from '../core/encoding/base64url.ts';
import type { DocumentKeys } from '../core/keys/document-keys.ts';
import { type KeyFileContext, openKeyFile } from '../core/keys/key-file.ts';
import { MESSAGE_LIMITS } from '../core/keys/limits.ts';
import { KEY_FILES_PATH } from '../core/site/path.ts';
import { fetchSmall } from './fetching.ts';
import { handleOf, macOf, type OriginStore } from './store.ts';

/** The longest wait for a key file, also on a slow line. In milliseconds. */
const PATIENCE = 45_000;

/** Stored part of an invitation, without its secret. */
export interface StoredInvitation {
  /** Name of its key file. */
  readonly name: string;
  /** HMAC with SHA-512, not extractable: a handle of what opens the file. */
  readonly key: CryptoKey;
}

/** Tells whether what was stored is an invitation: published scripts can write there. */
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

/** Stores what a key file gave. The same key can arrive with several invitations: its latest end applies. @param wanted - sets that it was fetched for */
export async function storeKeys(store: OriginStore, { keys }: DocumentKeys, wanted: readonly KeyId[]): Promise<void> {
  const arrived = await Promise.all(
    keys.map(async (each) => {
      const { notAfter = 0 } = (await store.keys.find(each.id)) ?? {};
      return handleOf({ ...each, notAfter: notAfter > each.notAfter ? notAfter : each.notAfter });
    }),
  );
  await store.keys.put(arrived);
  for (const id of wanted) await store.asked.put(id, { at: Date.now(), isAnswered: true });
}
