/** The first form of the hand-over. To be removed with its last callers. */
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { canonicalJson, hasMembers, isJsonObject, type Json, parseCanonicalJson } from '../encoding/canonical-json.ts';
import { PublicationError } from './errors.ts';
import type { RoleExpiry } from './hand-over.ts';

export { BUNDLE_PATH, PUBLICATION_PATH, type RoleExpiry } from './hand-over.ts';

const HAND_OVER_LIMITS = { length: 2 * 1024 * 1024, roots: 255, expiries: 64 } as const;

export interface HandOver {
  /** `timestamp.json`, byte for byte. */
  readonly timestamp: Uint8Array;
  /** `2.root.json` and all that follow, byte for byte. */
  readonly roots: readonly Uint8Array[];
  /** For the operator's eyes; nothing is decided by it. */
  readonly expiries: readonly RoleExpiry[];
}

const ROLE = /^[\w.-]{1,64}$/;

export function encodeHandOver({ timestamp, roots, expiries }: HandOver): Uint8Array {
  return canonicalJson({
    expiries: expiries.map(({ role, expires }) => ({ expires, role })),
    roots: roots.map(toBase64url),
    timestamp: toBase64url(timestamp),
  });
}

/**
 * Reads the form; nothing in it is verified yet.
 *
 * @throws PublicationError `metadata-malformed`
 */
export function parseHandOver(bytes: Uint8Array): HandOver {
  const message = bytes.length <= HAND_OVER_LIMITS.length ? parseCanonicalJson(bytes) : undefined;
  if (!isJsonObject(message) || !hasMembers(message, ['expiries', 'roots', 'timestamp'])) throw malformed();
  const { expiries, roots } = message;
  if (!Array.isArray(roots) || roots.length > HAND_OVER_LIMITS.roots) throw malformed();
  if (!Array.isArray(expiries) || expiries.length > HAND_OVER_LIMITS.expiries) throw malformed();
  return { timestamp: file(message.timestamp), roots: roots.map(file), expiries: expiries.map(roleExpiry) };
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
  return new PublicationError('metadata-malformed', 'the message about a publication is not of its form');
}
