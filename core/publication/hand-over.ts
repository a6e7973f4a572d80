/** Message by which a publisher makes a publication current at its key server: docs/spec/keys.md, "Handing over". */
import { ed25519Sign } from '#primitives';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, lengthPrefixed, utf8 } from '../encoding/bytes.ts';
import { canonicalJson, hasMembers, isJsonObject, type Json, parseCanonicalJson } from '../encoding/canonical-json.ts';
import { PublicationError } from './errors.ts';
import { verifyEd25519 } from './keys.ts';
import type { RootMetadata } from './metadata.ts';

/** Paths at which a key server takes key bundles and publications, and says who publishes, and which keys former readers may have. */
export const BUNDLE_PATH = '/v1/bundle';
export const PUBLICATION_PATH = '/v1/publication';
export const PUBLISHING_PATH = '/v1/publishing';
export const FORMER_READERS_PATH = `${PUBLISHING_PATH}/former-readers`;

export const HAND_OVER_LIMITS = {
  /** Bytes of the whole message: the longest snapshot in base64url, and roots. */
  length: 24 * 1024 * 1024,
  roots: 255,
  expiries: 64,
  /** Bytes that begin or separate something in JSON; the largest message has fewer. A message with more is not parsed. */
  structure: 512,
} as const;

/** Time by which a role has to be signed again. */
export interface RoleExpiry {
  /** `snapshot`, `targets`, `documents`, the name of a section; `bins` for the one of all bins that expires first. */
  readonly role: string;
  /** Seconds since 1970. */
  readonly expires: number;
}

export interface HandOver {
  /** `N.snapshot.json`, byte for byte. */
  readonly snapshot: Uint8Array;
  /** `2.root.json` and all that follow, byte for byte. */
  readonly roots: readonly Uint8Array[];
  /** Information for the operator; nothing is decided by it. */
  readonly expiries: readonly RoleExpiry[];
}

export interface ReceivedHandOver extends HandOver {
  /**
   * Checks that a key of the root's `snapshot` role has signed the message.
   *
   * @throws PublicationError `metadata-signature`
   */
  checkSignature(root: RootMetadata): Promise<void>;
}

const LABEL = utf8('wispr/1 publication');
/** `,`, `[`, `{`, and the backslash, which no string of the form needs. */
const STRUCTURE: ReadonlySet<number> = new Set(utf8(',[{\\'));
const ROLE = /^[\w.-]{1,64}$/;

/** @param secretKey - of a key of the `snapshot` role */
export function encodeHandOver({ snapshot, roots, expiries }: HandOver, secretKey: Uint8Array): Uint8Array {
  const message = {
    expiries: expiries.map(({ role, expires }) => ({ expires, role })),
    roots: roots.map(toBase64url),
    snapshot: toBase64url(snapshot),
  };
  return canonicalJson({ ...message, signature: toBase64url(ed25519Sign(signedBytes(message), secretKey)) });
}

/** Reads the form; nothing in it is verified yet. @throws PublicationError `metadata-malformed` */
export function parseHandOver(bytes: Uint8Array): ReceivedHandOver {
  const message = isBounded(bytes) ? parseCanonicalJson(bytes) : undefined;
  if (!isJsonObject(message) || !hasMembers(message, ['expiries', 'roots', 'signature', 'snapshot'])) throw malformed();
  const { signature, ...signed } = message;
  const { expiries, roots, snapshot } = signed;
  if (!Array.isArray(roots) || roots.length > HAND_OVER_LIMITS.roots) throw malformed();
  if (!Array.isArray(expiries) || expiries.length > HAND_OVER_LIMITS.expiries) throw malformed();
  const signatureBytes = file(signature);
  return {
    snapshot: file(snapshot),
    roots: roots.map(file),
    expiries: expiries.map(roleExpiry),
    checkSignature: (root) => checkSignature(signatureBytes, signedBytes(signed), root),
  };
}

/** Tells whether it is no longer than it may be, and parsing it costs no more than reading its strings. */
function isBounded(bytes: Uint8Array): boolean {
  if (bytes.length > HAND_OVER_LIMITS.length) return false;
  let structure = 0;
  for (const byte of bytes) {
    if (STRUCTURE.has(byte) && ++structure > HAND_OVER_LIMITS.structure) return false;
  }
  return true;
}

function signedBytes(message: { [member: string]: Json }): Uint8Array {
  return concat(lengthPrefixed(LABEL), canonicalJson(message));
}

async function checkSignature(
  signature: Uint8Array,
  message: Uint8Array,
  { roles, keys }: RootMetadata,
): Promise<void> {
  for (const keyid of roles.snapshot.keyids) {
    const key = keys.get(keyid);
    if (key && (await verifyEd25519(key, signature, message))) return;
  }
  throw new PublicationError('metadata-signature', 'no key of the snapshot role has signed the hand-over');
}

function file(value: Json | undefined): Uint8Array {
  const bytes = fromBase64url(value);
  if (bytes === undefined) throw malformed();
  return bytes;
}

function roleExpiry(value: Json): RoleExpiry {
  if (!isJsonObject(value) || !hasMembers(value, ['expires', 'role'])) throw malformed();
  const { expires, role } = value;
  if (typeof expires !== 'number' || typeof role !== 'string' || !ROLE.test(role)) throw malformed();
  return { role, expires };
}

function malformed(): PublicationError {
  return new PublicationError('metadata-malformed', 'the hand-over of a publication is malformed');
}
