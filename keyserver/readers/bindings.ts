/** Binding a device: docs/spec/keys.md, "Binding", the issuer's side. */
import { toBase64url } from '../../core/encoding/base64url.ts';
import { answerBinding, type VerifiedBindingRequest, verifyBindingRequest } from '../../core/keys/binding.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import { REQUEST_TIME_TOLERANCE } from '../../core/keys/key-request.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { KeyServerError } from '../errors.ts';
import type { ProviderReader } from '../publication/provider.ts';
import { run } from '../storage/database.ts';
import { digest } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findInvitation, markUsed } from './invitations.ts';

/**
 * Answers a binding request. The device is in the database, and its code used up, before the answer leaves; a device that lost the answer
 * asks again with the same code, and takes its own place.
 *
 * @param keyServer - the origin that readers use
 * @throws KeyError as `verifyBindingRequest`; KeyServerError `no-provider`, `request-refused`, `stale-request`, `code-refused`
 */
export async function bindDevice(
  state: KeyServerState,
  provider: ProviderReader,
  keyServer: string,
  request: Uint8Array,
): Promise<Uint8Array> {
  const verified = verifyBindingRequest(request);
  await checkPublisher(provider, verified.publisher);
  checkTime(verified.time, state.now());
  const keysDigest = toBase64url(digest('device keys', verified.xwingPublicKey, verified.ed25519));
  findInvitation(state, verified.code, 'device', keysDigest); // before the costly part
  const { answer, deviceKey } = await answerBinding(request, verified, keyServer);
  const sealed = await state.vault.seal(devicePlace(keysDigest, deviceKey.id), deviceKey.key);
  inTransaction(state.database, () => storeDevice(state, verified, { keysDigest, keyId: deviceKey.id, sealed }));
  return answer;
}

/** Where a device key stands in the database. */
export function devicePlace(keysDigest: string, keyId: KeyId) {
  return { table: 'devices', row: keysDigest, keyId };
}

function storeDevice(
  state: KeyServerState,
  { code }: VerifiedBindingRequest,
  device: { readonly keysDigest: string; readonly keyId: KeyId; readonly sealed: Uint8Array },
): void {
  const { keysDigest, keyId, sealed } = device;
  const invitation = findInvitation(state, code, 'device', keysDigest);
  markUsed(state.database, invitation, keysDigest);
  run(
    state.database,
    `INSERT INTO devices (subscriber, keys_digest, key_id, sealed, created) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (keys_digest) DO UPDATE SET
       subscriber = excluded.subscriber, key_id = excluded.key_id, sealed = excluded.sealed, revoked = NULL`,
    invitation.subscriber,
    keysDigest,
    keyId,
    sealed,
    state.now(),
  );
}

async function checkPublisher(provider: ProviderReader, publisher: KeyId): Promise<void> {
  const known = await provider.read();
  if (!known) throw new KeyServerError('no-provider', 'no key bundle has been imported yet');
  if (known.publisher !== publisher) {
    throw new KeyServerError('request-refused', 'the device means another publisher than this key server serves');
  }
}

function checkTime(time: number, now: number): void {
  if (Math.abs(time - now) <= REQUEST_TIME_TOLERANCE) return;
  throw new KeyServerError(
    'stale-request',
    "the device's clock and this key server's differ by more than five minutes",
  );
}
