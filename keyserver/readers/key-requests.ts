/** Answering key requests: docs/spec/keys.md, "Key requests", the server's side. */
import { randomBytes } from '#primitives';
import type { DerivedDeviceKeys } from '../../core/keys/device-key.ts';
import {
  encodeKeyAnswer,
  isRequestBy,
  type KeyAnswer,
  type KeyRequest,
  parseKeyRequest,
  REQUEST_TIME_TOLERANCE,
} from '../../core/keys/key-request.ts';
import type { RefusedKey } from '../../core/keys/refused-key.ts';
import { type WrappedKey, wrapKey } from '../../core/keys/wrapped-key.ts';
import { KeyServerError } from '../errors.ts';
import { openPeriods } from '../publication/period-keys.ts';
import type { Remembered } from '../storage/memory.ts';
import type { KeyServerState } from '../storage/state.ts';
import { coversPeriod, givenFrom, isGivenAt, type Right } from '../subscriptions/periods.ts';
import type { NewBrowser } from './bindings.ts';
import { type BrowserSession, recordDevice } from './browser-devices.ts';
import { decideKeys } from './entitlement.ts';
import { type KnownDevice, readDevice, rememberDevice, rememberedDevice, type StoredDevice } from './known-devices.ts';

type IsExpected = (device: Pick<StoredDevice, 'kind' | 'subscriber'>) => boolean;

/** Keys that no device has, for a MAC at the cost of that of a device in memory. */
const [mac, answer, wrapping] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const NOBODY: DerivedDeviceKeys = { id: '', mac, answer, wrapping };

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
  const remembered = await state.memory.current();
  const isReader: IsExpected = ({ kind }) => kind === 'reader';
  const device = await authenticate(state, remembered, keyServer, request, isReader);
  const answer = counted(state, await decide(state, remembered, device, request));
  return encodeKeyAnswer(answer, bytes, device.keys);
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
  const remembered = await state.memory.current();
  const isOwn: IsExpected = ({ kind, subscriber }) => kind === 'browser' && subscriber === session.subscriber.id;
  const device = await authenticate(state, remembered, vault, request, isOwn);
  const sites = site === undefined ? [] : [site];
  const answer = counted(state, await decide(state, remembered, device, request, sites));
  const renewed = answer.keys.length > 0;
  if (renewed) await recordDevice(state, session.token, device.id);
  return { answer: await encodeKeyAnswer(answer, bytes, device.keys), renewed };
}

/**
 * Answers what a browser asked for as it became a device, which nobody else can open: the answer is under its new device key.
 *
 * @param site - as for {@link answerBrowserKeyRequest}
 * @param bytes - of the binding request
 */
export async function answerNewBrowser(
  state: KeyServerState,
  site: string | undefined,
  { device: id, keys }: NewBrowser,
  bytes: Uint8Array,
): Promise<Uint8Array> {
  const { device } = await readDevice(state, id, ({ kind }) => kind === 'browser');
  if (!device) throw new KeyServerError('request-refused', 'the device was removed meanwhile');
  const sites = site === undefined ? [] : [site];
  const asked = { keys, time: state.now() };
  return encodeKeyAnswer(
    counted(state, await decide(state, await state.memory.current(), device, asked, sites)),
    bytes,
    device.keys,
  );
}

/**
 * Finds the device that a request proves to be, in memory first. Any other costs the same, whether there is such a device or not: one look-up, one sealed
 * row opened, two MACs.
 */
async function authenticate(
  state: KeyServerState,
  remembered: Remembered,
  keyServer: string,
  request: KeyRequest,
  isExpected: IsExpected,
): Promise<KnownDevice> {
  const known = rememberedDevice(remembered, request.device);
  const expected = known && isExpected(known) ? known : undefined;
  if ((await isRequestBy(request, keyServer, expected?.keys ?? NOBODY)) && expected) return expected;
  const { device, keys } = await readDevice(state, request.device, isExpected);
  const proved = await isRequestBy(request, keyServer, keys);
  if (device && proved) {
    rememberDevice(remembered, device);
    return device;
  }
  state.counts.add('key-refused request-refused');
  throw new KeyServerError('request-refused', 'the request does not prove possession of a device key');
}

/** @param sites - those of whose sets this place hands out keys, and no period keys; left out: all */
async function decide(
  state: KeyServerState,
  remembered: Remembered,
  device: KnownDevice,
  request: Pick<KeyRequest, 'keys' | 'time'>,
  sites?: readonly string[],
): Promise<KeyAnswer> {
  const time = state.now();
  // A request may come again within that time: docs/spec/keys.md, section 8.
  const isStale = Math.abs(request.time - time) > REQUEST_TIME_TOLERANCE;
  const refusal = device.isRevoked ? 'revoked' : isStale ? 'stale-request' : undefined;
  if (refusal) return { keys: [], refused: request.keys.map((id) => ({ id, reason: refusal })), time };
  device.lastSeen = state.lastSeen.note(device.id, device.lastSeen);
  const rights = await renewedRights(state, device);
  const found = await decideKeys(state, remembered, rights, request.keys, sites);
  const keys: WrappedKey[] = [];
  const refused: RefusedKey[] = [];
  // The device's clock may be behind by as much as its request may be.
  const notBefore = time - REQUEST_TIME_TOLERANCE;
  for (const [index, decision] of found.entries()) {
    const id = request.keys[index] ?? '';
    if (decision.denied) refused.push({ id, reason: decision.denied });
    else {
      const { key, notAfter } = decision;
      keys.push(await wrapKey(device.keys, { id, key, kind: 'set' }, { notBefore, notAfter }));
    }
  }
  const periods = rights && !sites ? await periodKeys(state, remembered, device, rights) : [];
  const given = new Set(periods.map(({ id }) => id));
  return { keys: [...keys, ...periods], refused: refused.filter(({ id }) => !given.has(id)), time };
}

/** The rights, after another system was asked where there is one. */
async function renewedRights(state: KeyServerState, { rights, subscriber, keys }: KnownDevice) {
  if (!rights || !state.renewRights) return rights;
  await state.renewRights(subscriber);
  const { id } = keys;
  const now = rememberedDevice(await state.memory.current(), id) ?? (await readDevice(state, id, () => true)).device;
  return now?.rights;
}

function counted({ counts }: KeyServerState, answer: KeyAnswer): KeyAnswer {
  counts.add('key-given', answer.keys.length);
  for (const { reason } of answer.refused) counts.add(`key-refused ${reason}`);
  return answer;
}

/** The keys of the periods that the rights cover, of the next ones ahead of time: whatever was asked for. */
async function periodKeys(
  state: KeyServerState,
  remembered: Remembered,
  { keys }: KnownDevice,
  rights: readonly Right[],
): Promise<WrappedKey[]> {
  const now = state.now();
  const covered = (await openPeriods(state, remembered)).filter(
    (period) => isGivenAt(period, now) && coversPeriod(rights, period, now),
  );
  const wrapped = covered.map(({ id, key, starts, ends }) =>
    wrapKey(keys, { id, key, kind: 'period' }, { notBefore: givenFrom({ starts, ends }), notAfter: ends }),
  );
  return Promise.all(wrapped);
}
