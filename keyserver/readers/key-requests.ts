/** Answering key requests: docs/spec/keys.md, "Key requests", the server's side. */

import type { KeyId } from '../../core/crypto/key-id.ts';
import {
  encodeKeyAnswer,
  isRequestBy,
  type KeyAnswer,
  type KeyRequest,
  parseKeyRequest,
  REQUEST_TIME_TOLERANCE,
} from '../../core/keys/key-request.ts';
import type { RefusalReason } from '../../core/keys/refused-key.ts';
import { type NamedKey, type WrappedKey, wrapKey } from '../../core/keys/wrapped-key.ts';
import { KeyServerError } from '../errors.ts';
import { openPeriod, periodsFrom } from '../publication/period-keys.ts';
import type { KeyServerState } from '../storage/state.ts';
import { coversPeriod, givenFrom, type Right } from '../subscriptions/periods.ts';
import { type BrowserSession, recordDevice } from './browser-devices.ts';
import { deviceRow } from './devices.ts';
import { decideKeys, type KeyDecision, standingRights } from './entitlement.ts';

/** Seconds between two notes of when a device was last seen. */
const LAST_SEEN_INTERVAL = 3600;

interface DeviceRow {
  readonly id: number;
  readonly kind: 'browser' | 'reader';
  readonly keys_digest: string;
  readonly sealed: Uint8Array;
  readonly last_seen: number | null;
  readonly revoked: number | null;
  readonly subscriber: number;
  readonly name: string;
  readonly subscriber_revoked: number | null;
}

interface Device {
  readonly row: DeviceRow;
  readonly key: NamedKey;
}

/**
 * Answers a key request.
 *
 * @param keyServer - the origin that readers use
 * @returns the encrypted answer; refusals of single keys stand inside
 * @throws KeyError `request-malformed`; KeyServerError `request-refused` for an unknown device and for a wrong MAC alike
 */
export async function answerKeyRequest(
  state: KeyServerState,
  keyServer: string,
  bytes: Uint8Array,
): Promise<Uint8Array> {
  const request = parseKeyRequest(bytes);
  const device = await authenticate(state, keyServer, request, ({ kind }) => kind === 'reader');
  const answer = counted(state, await decide(state, device, request));
  return encodeKeyAnswer(answer, bytes, device.key.key);
}

/**
 * Answers a key request of a browser. Readers, and devices of another subscriber than the one who is signed in, are unknown here, and so are
 * sets of other sites. Keys that are given renew the session.
 *
 * @param vault - the origin that the browser asks
 * @param site - the site that is read there; `undefined` if there is none
 * @throws as {@link answerKeyRequest}
 */
export async function answerBrowserKeyRequest(
  state: KeyServerState,
  vault: string,
  site: string | undefined,
  session: BrowserSession,
  bytes: Uint8Array,
): Promise<{ answer: Uint8Array; renewed: boolean }> {
  const request = parseKeyRequest(bytes);
  const device = await authenticate(
    state,
    vault,
    request,
    ({ kind, subscriber }) => kind === 'browser' && subscriber === session.subscriber.id,
  );
  const answer = counted(state, await decide(state, device, request, site === undefined ? [] : [site]));
  const renewed = answer.keys.length > 0;
  if (renewed) await recordDevice(state, session, device.row.id);
  return { answer: await encodeKeyAnswer(answer, bytes, device.key.key), renewed };
}

/** Known or not, a device costs the same: one look-up, one sealed row opened, one MAC. */
async function authenticate(
  state: KeyServerState,
  keyServer: string,
  request: KeyRequest,
  isExpected: (row: DeviceRow) => boolean,
): Promise<Device> {
  const { vault } = state;
  const found = await findDevice(state, request.device);
  const row = found && isExpected(found) ? found : undefined;
  const { ref, sealed } = row ? { ref: deviceRow(row.keys_digest, request.device), sealed: row.sealed } : vault.decoy;
  const key = await vault.open(ref, sealed);
  const proved = await isRequestBy(request, keyServer, key);
  if (row && proved) return { row, key: { id: request.device, key } };
  state.counts.add('key-refused request-refused');
  throw new KeyServerError('request-refused', 'the request does not prove possession of a device key');
}

/** @param sites - those of whose sets this place hands out keys, and no period keys; left out: all */
async function decide(
  state: KeyServerState,
  { row, key }: Device,
  request: KeyRequest,
  sites?: readonly string[],
): Promise<KeyAnswer> {
  const time = state.now();
  const refusal = row.revoked !== null ? 'revoked' : await checkFreshness(state, row, request);
  if (refusal) return { keys: [], refused: request.keys.map((id) => ({ id, reason: refusal })), time };
  const subscriber = { id: row.subscriber, name: row.name, revoked: row.subscriber_revoked };
  const rights = await standingRights(state, subscriber);
  const [found, periods] = await Promise.all([
    decideKeys(state, rights, request.keys, sites),
    sites || !rights ? [] : periodKeys(state, key, rights),
  ]);
  const decisions = await Promise.all(
    request.keys.map((id, index) => answerOne(key, id, found[index] ?? { denied: 'not-entitled' }, time)),
  );
  const given = new Set(periods.map(({ id }) => id));
  return {
    keys: [...decisions.filter((decision) => 'wrapped' in decision), ...periods],
    refused: decisions.filter((decision) => 'reason' in decision).filter(({ id }) => !given.has(id)),
    time,
  };
}

function counted({ counts }: KeyServerState, answer: KeyAnswer): KeyAnswer {
  counts.add('key-given', answer.keys.length);
  for (const { reason } of answer.refused) counts.add(`key-refused ${reason}`);
  return answer;
}

/** The keys of the periods that the rights cover, of the next ones ahead of time: whatever was asked for. */
async function periodKeys(state: KeyServerState, device: NamedKey, rights: readonly Right[]): Promise<WrappedKey[]> {
  const now = state.now();
  const periods = await periodsFrom(state.database, now);
  const covered = periods.filter((period) => givenFrom(period) <= now && coversPeriod(rights, period, now));
  return Promise.all(
    covered.map(async (period) => {
      const validity = { notBefore: givenFrom(period), notAfter: period.ends };
      return wrapKey(device, { ...(await openPeriod(state, period)), kind: 'period' }, validity);
    }),
  );
}

async function answerOne(
  device: NamedKey,
  id: KeyId,
  decision: KeyDecision,
  time: number,
): Promise<WrappedKey | { id: KeyId; reason: RefusalReason }> {
  if (decision.denied) return { id, reason: decision.denied };
  // The device's clock may be behind by as much as its request may be.
  const validity = { notBefore: time - REQUEST_TIME_TOLERANCE, notAfter: decision.notAfter };
  return wrapKey(device, { id, key: decision.key, kind: 'set' }, validity);
}

/**
 * Refuses what is too old, from the future, or here already; remembers the nonce for as long as its time would be accepted, and until some
 * device is noted as seen. No transaction: one statement decides, and requests do not wait for each other. Nor for the disk: after a power
 * cut, who has recorded a request of the last minutes gets the same keys for the same device once more, and cannot open them.
 */
async function checkFreshness(
  state: KeyServerState,
  device: DeviceRow,
  { nonce, time }: KeyRequest,
): Promise<RefusalReason | undefined> {
  const { database } = state;
  const now = state.now();
  if (Math.abs(time - now) > REQUEST_TIME_TOLERANCE) return 'stale-request';
  const sql = 'INSERT INTO nonces (device, nonce, expires) VALUES (?, ?, ?) ON CONFLICT DO NOTHING';
  if ((await database.runUnflushed(sql, device.id, nonce, time + REQUEST_TIME_TOLERANCE)) === 0)
    return 'replayed-request';
  if (now - (device.last_seen ?? 0) < LAST_SEEN_INTERVAL) return undefined;
  await database.transaction(async () => {
    await database.run('UPDATE devices SET last_seen = ? WHERE id = ?', now, device.id);
    await database.run('DELETE FROM nonces WHERE expires < ?', now);
  });
  return undefined;
}

async function findDevice({ database }: KeyServerState, keyId: KeyId): Promise<DeviceRow | undefined> {
  return database.first<DeviceRow>(
    `SELECT devices.id, kind, keys_digest, sealed, last_seen, devices.revoked, subscriber, name, subscribers.revoked AS subscriber_revoked
     FROM devices JOIN subscribers ON subscribers.id = subscriber WHERE key_id = ?`,
    keyId,
  );
}
