/** Binding a device: docs/spec/keys.md, "Binding", the issuer's side; and a browser's: docs/spec/web-reader.md, "Devices of browsers". */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import {
  answerBinding,
  type BrowserBindingRequest,
  type VerifiedRequest,
  verifyBindingRequest,
  verifyBrowserBindingRequest,
  verifyRenewalRequest,
} from '../../core/keys/binding.ts';
import { REQUEST_TIME_TOLERANCE } from '../../core/keys/key-request.ts';
import type { RequestLimits } from '../config/limits.ts';
import { KeyServerError } from '../errors.ts';
import type { ProviderReader } from '../publication/provider.ts';
import { asReader, audit } from '../storage/audit.ts';
import { digest } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';
import { nameOfSubscriber } from '../subscriptions/subscribers.ts';
import { type BrowserSession, isLiveSession, recordDevice, removeSurplusBrowsers } from './browser-devices.ts';
import { demandRoomForReader, deviceRow } from './devices.ts';
import { findInvitation, useInvitation } from './invitations.ts';

/** Parts with which a key server answers bindings. */
export interface Issuer {
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  /** The one that readers use, or that a browser asks. */
  readonly origin: string;
  /** `devices`: Readers that a subscriber can have, and browsers. */
  readonly limits: Pick<RequestLimits, 'devices'>;
}

/** A device that was answered, and is not stored yet. */
interface Answered {
  readonly label?: string | undefined;
  readonly answer: Uint8Array;
  readonly keysDigest: string;
  readonly keyId: KeyId;
  readonly sealed: Uint8Array;
}

/**
 * Answers a binding request. The device is in the database, and its code used up, before the answer leaves; a device that lost the answer
 * asks again with the same code, and takes its own place.
 *
 * @throws KeyError as `verifyBindingRequest`; KeyServerError `no-provider`, `request-refused`, `stale-request`, `code-refused`, `seats-taken`, `too-many-devices`
 */
export async function bindDevice(issuer: Issuer, request: Uint8Array): Promise<Uint8Array> {
  const { state, limits } = issuer;
  const verified = await verifyBindingRequest(request);
  await checkRequest(issuer, verified);
  await findInvitation(state, verified.code, keysDigestOf(verified)); // the costly part comes after
  const device = await answer(issuer, request, verified);
  await state.database.transaction(async () => {
    const { keysDigest } = device;
    const invitation = await findInvitation(state, verified.code, keysDigest);
    const owner = 'SELECT subscriber FROM devices WHERE keys_digest = ?';
    const before = await state.database.first<{ subscriber: number }>(owner, keysDigest);
    const subscriber = await useInvitation(state, invitation, keysDigest, before?.subscriber);
    await demandRoomForReader(state.database, subscriber, keysDigest, limits.devices);
    await storeDevice(state, subscriber, 'reader', device);
  });
  state.counts.add('binding');
  return device.answer;
}

/**
 * Gives a Reader that was bound before another device key. Its signature shows which one it is; access that has ended stays ended.
 *
 * @throws KeyError as `verifyRenewalRequest`; KeyServerError `no-provider`, `stale-request`; `request-refused` for a device that is unknown or was
 * revoked alike
 */
export async function renewDeviceKey(issuer: Issuer, request: Uint8Array): Promise<Uint8Array> {
  const verified = await verifyRenewalRequest(request);
  await checkRequest(issuer, verified);
  const device = await answer(issuer, request, verified);
  const sql = `UPDATE devices SET key_id = ?, sealed = ? WHERE keys_digest = ? AND kind = 'reader' AND revoked IS NULL
    AND subscriber IN (SELECT id FROM subscribers WHERE revoked IS NULL)`;
  const renewed = await issuer.state.database.run(sql, device.keyId, device.sealed, device.keysDigest);
  if (renewed > 0) return device.answer;
  throw new KeyServerError('request-refused', 'no device that has access has these keys');
}

/** A browser that has become a device. */
export interface NewBrowser {
  /** The answer to its binding. */
  readonly answer: Uint8Array;
  readonly device: KeyId;
  /** Keys that it asks for. */
  readonly keys: readonly KeyId[];
}

/**
 * Answers the binding request of a browser that is signed in: its session stands for the code.
 *
 * @throws KeyError as `verifyBrowserBindingRequest`; KeyServerError `no-provider`, `request-refused`, `stale-request`, `not-signed-in`, `revoked`
 */
export async function bindBrowser(issuer: Issuer, session: BrowserSession, request: Uint8Array): Promise<NewBrowser> {
  const { state, limits } = issuer;
  const verified = await verifyBrowserBindingRequest(request);
  if (session.subscriber.revoked !== null) throw new KeyServerError('revoked', 'the access was withdrawn');
  await checkRequest(issuer, verified);
  const device = await answer(issuer, request, verified);
  await state.database.transaction(async () => {
    if (!(await isLiveSession(state, session)))
      throw new KeyServerError('not-signed-in', 'the session has ended meanwhile');
    const { label } = session;
    const id = await storeDevice(state, session.subscriber.id, 'browser', { ...device, label });
    await recordDevice(state, session.token, id);
    await removeSurplusBrowsers(state.database, session.subscriber.id, limits.devices);
  });
  state.counts.add('binding');
  return { answer: device.answer, device: device.keyId, keys: verified.keys };
}

async function answer(
  { state, origin }: Issuer,
  request: Uint8Array,
  verified: VerifiedRequest<BrowserBindingRequest>,
): Promise<Answered> {
  const keysDigest = keysDigestOf(verified);
  const { answer, deviceKey } = await answerBinding(request, verified, origin);
  const sealed = await state.vault.seal(deviceRow(keysDigest, deviceKey.id), deviceKey.key);
  return { answer, keysDigest, keyId: deviceKey.id, sealed };
}

/** A device that binds again takes its own place, which is no news for the audit trail. @returns its number */
async function storeDevice(
  state: KeyServerState,
  subscriber: number,
  kind: 'browser' | 'reader',
  { keysDigest, keyId, sealed, label }: Answered,
): Promise<number> {
  const { database, now } = state;
  const known = 'SELECT 1 FROM devices WHERE keys_digest = ? AND kind = ? AND subscriber = ? AND revoked IS NULL';
  const isAgain = (await database.first(known, keysDigest, kind, subscriber)) !== undefined;
  const sql = `INSERT INTO devices (kind, subscriber, keys_digest, key_id, sealed, created, label) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (keys_digest) DO UPDATE SET
      kind = excluded.kind, subscriber = excluded.subscriber, key_id = excluded.key_id, sealed = excluded.sealed, label = excluded.label,
      revoked = NULL
    RETURNING id`;
  const values = [kind, subscriber, keysDigest, keyId, sealed, now(), label ?? null];
  const stored = await database.first<{ id: number }>(sql, ...values);
  if (!stored) throw new Error('a device was not stored');
  if (isAgain) return stored.id;
  const name = await nameOfSubscriber(database, subscriber);
  await audit(asReader(state, name), 'device', name, { device: stored.id, kind });
  return stored.id;
}

function keysDigestOf({ ed25519, xwingPublicKey }: VerifiedRequest<BrowserBindingRequest>): string {
  return toBase64url(digest('device keys', xwingPublicKey, ed25519));
}

async function checkRequest({ state, provider }: Issuer, { publisher, time }: BrowserBindingRequest): Promise<void> {
  const known = await provider.read();
  if (!known) throw new KeyServerError('no-provider', 'no key bundle has been imported yet');
  if (known.publisher !== publisher)
    throw new KeyServerError('request-refused', 'the device means another publisher than this key server serves');
  if (Math.abs(time - state.now()) > REQUEST_TIME_TOLERANCE)
    throw new KeyServerError('stale-request', "the device's clock and that of this key server differ too much");
}
