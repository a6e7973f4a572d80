/** The device's side of the key server's API, by `core/keys` alone. */
import { request } from 'node:http';
import { randomBytes } from '#primitives';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { acceptBinding, BINDING_PATH, encodeBindingRequest, normaliseCode } from '../../core/keys/binding.ts';
import { type DeviceKeys, deriveDeviceKeys, type KeyIssuer } from '../../core/keys/device.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH, type KeyAnswer, openKeyAnswer } from '../../core/keys/key-request.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { sendPatiently } from '../../reading/pause.ts';

/** A device that was bound. */
export interface BoundDevice {
  readonly keys: DeviceKeys;
  readonly provider: KeyIssuer;
  readonly deviceKey: NamedKey;
}

export function createDeviceKeys(provider: KeyIssuer): Promise<DeviceKeys> {
  return deriveDeviceKeys(randomBytes(32), provider);
}

export function post(
  origin: string,
  path: string,
  body: Uint8Array | string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(origin + path, { method: 'POST', body: body as BodyInit, redirect: 'manual', headers });
}

/**
 * Posts from another address of this machine.
 *
 * @param options - `breakOff`: half of the body, and then an end
 * @returns the status; 0 where it was broken off
 */
export function postFrom(
  localAddress: string,
  origin: string,
  path: string,
  body: Uint8Array | string,
  { headers = {}, breakOff = false }: { headers?: Record<string, string>; breakOff?: boolean } = {},
): Promise<number> {
  const length = Buffer.byteLength(body) * (breakOff ? 2 : 1);
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', localAddress, agent: false, headers: { 'content-length': length, ...headers } };
    const outgoing = request(origin + path, options, (answer) => resolve(answer.resume().statusCode ?? 0));
    outgoing.on('error', (error) => (breakOff ? resolve(0) : reject(error)));
    if (breakOff) outgoing.write(body, () => outgoing.destroy());
    else outgoing.end(body);
  });
}

/** A request to bind, by the code of an invitation as people see it. */
export function bindingRequest(
  device: DeviceKeys,
  { publisher }: Pick<KeyIssuer, 'publisher'>,
  code: string,
  time = nowInSeconds(),
): Uint8Array {
  return encodeBindingRequest(device, publisher, normaliseCode(code) ?? code, time);
}

/** Posts as devices do: again where a busy key server says when, as on a machine that does much else. */
function postPatiently(origin: string, path: string, body: Uint8Array): Promise<Response> {
  return sendPatiently(
    () => post(origin, path, body),
    ({ status, headers }) => ({ status, retryAfter: headers.get('retry-after') }),
  );
}

/** Binds, and insists that it works. */
export async function bind(provider: KeyIssuer, code: string, keys?: DeviceKeys): Promise<BoundDevice> {
  const device = keys ?? (await createDeviceKeys(provider));
  const request = bindingRequest(device, provider, code);
  const response = await postPatiently(provider.keyServer, BINDING_PATH, request);
  const answer = await bytesOf(response);
  if (response.status !== 200) throw new Error(`binding: ${response.status} ${Buffer.from(answer)}`);
  return { keys: device, provider, deviceKey: await acceptBinding(request, answer, device, provider) };
}

/** Asks for keys, and insists on an answer. */
export async function askForKeys({ provider, deviceKey }: BoundDevice, ids: readonly KeyId[]): Promise<KeyAnswer> {
  const request = await encodeKeyRequest(deviceKey, provider.keyServer, ids, nowInSeconds());
  return sendKeyRequest(provider.keyServer, deviceKey, request);
}

export async function sendKeyRequest(keyServer: string, deviceKey: NamedKey, request: Uint8Array): Promise<KeyAnswer> {
  const response = await postPatiently(keyServer, KEY_REQUEST_PATH, request);
  const answer = await bytesOf(response);
  if (response.status !== 200) throw new Error(`key request: ${response.status} ${Buffer.from(answer)}`);
  return openKeyAnswer(answer, request, deviceKey.key);
}

export async function bytesOf(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer());
}
