/** A key that was not given, and why: docs/spec/keys.md, "Key requests". */
import { isKeyId, type KeyId } from '../crypto/key-id.ts';
import { hasMembers, isJsonObject, type Json } from '../encoding/canonical-json.ts';

export const MAXIMUM_KEYS_PER_REQUEST = 256;

/** Reason why a key was not given. `not-entitled` is also said of ids that no set has. */
export type RefusalReason = 'not-entitled' | 'lapsed' | 'revoked' | 'stale-request' | 'replayed-request';

const REASONS: readonly Json[] = [
  'not-entitled',
  'lapsed',
  'revoked',
  'stale-request',
  'replayed-request',
] satisfies RefusalReason[];

export interface RefusedKey {
  readonly id: KeyId;
  readonly reason: RefusalReason;
}

/** Tells whether a received value has the form of a {@link RefusedKey}. */
export function isRefusedKey(value: Json): boolean {
  return (
    isJsonObject(value) &&
    hasMembers(value, ['id', 'reason']) &&
    isKeyId(value.id) &&
    REASONS.includes(value.reason as Json)
  );
}
