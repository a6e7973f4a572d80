/** Takes the vectors of keys.json through core; runs on Node and in a browser. README.md names the operations. */
import { xwingDecapsulate, xwingKeyPair } from '#primitives';
import { type KeyKind, keyIdOf } from '../../../core/crypto/key-id.ts';
import type { JsonObject } from '../../../core/encoding/canonical-json.ts';
import { acceptBinding, verifyBindingRequest } from '../../../core/keys/binding.ts';
import { openBundle } from '../../../core/keys/bundle.ts';
import { isHostProof, verifyDescriptor } from '../../../core/keys/descriptor.ts';
import { checkXwingPublicKey, deriveDeviceKeys } from '../../../core/keys/device.ts';
import { parseEnvelope } from '../../../core/keys/envelope.ts';
import { KeyError } from '../../../core/keys/errors.ts';
import { keyFileAddressOf, openKeyFile } from '../../../core/keys/key-file.ts';
import { isRequestBy, openKeyAnswer, parseKeyRequest } from '../../../core/keys/key-request.ts';
import { openRoaming } from '../../../core/keys/roaming.ts';
import { unwrapKey, type WrappedKey } from '../../../core/keys/wrapped-key.ts';
import { fromBase64, type KeyVector, toBase64 } from '../format.ts';

/** Outcome of a vector, in the form in which the vector states it. */
export type KeyOutcome = Pick<KeyVector, 'outcome' | 'result'>;

/** Reads the values of a vector's input. */
const inputOf = (values: KeyVector['input']) => ({
  text: (name: string) => String(values[name]),
  bytes: (name: string) => fromBase64(String(values[name])),
  number: (name: string) => Number(values[name]),
});
type Input = ReturnType<typeof inputOf>;

const OPERATIONS: Readonly<Record<string, (input: Input) => Promise<JsonObject>>> = {
  'key-id': async (input) => ({ id: await keyIdOf(input.text('kind') as KeyKind, input.bytes('key')) }),

  'unwrap-key': async (input) => {
    const outer = input.bytes('outerKey');
    const id = await keyIdOf(input.text('outerKind') as KeyKind, outer);
    const wrapped = JSON.parse(input.text('wrapped')) as WrappedKey;
    return { key: toBase64(await unwrapKey({ id, key: outer }, wrapped, input.number('now'))) };
  },

  'open-envelope': async (input) => {
    const period = input.bytes('periodKey');
    const id = await keyIdOf('period', period);
    const wrapped = parseEnvelope(input.bytes('envelope'), id).find((key) => key.id === input.text('set'));
    if (!wrapped) throw new Error('the envelope does not have the set');
    return { key: toBase64(await unwrapKey({ id, key: period }, wrapped, input.number('now'))) };
  },

  'verify-descriptor': async (input) => {
    const verified = await verifyDescriptor(input.bytes('descriptor'), input.number('now'));
    const { publisher, publisherKeyBytes, keyServer, sites } = verified;
    const publisherKey = await keyIdOf('publisher', publisherKeyBytes);
    return { publisher, publisherKey, keyServer, sites: sites.map(({ site }) => site) };
  },

  'host-proof': async (input) => {
    if (isHostProof(input.text('text'), input.text('publisher'))) return {};
    throw new KeyError('host-proof', 'the text does not name the publisher');
  },

  'derive-device': async (input) => {
    const { xwing, ed25519 } = await deriveDeviceKeys(input.bytes('seed'), providerOf(input));
    return { xwing: toBase64(xwing.publicKey), ed25519: toBase64(ed25519.publicKey) };
  },

  'check-device-key': async (input) => {
    checkXwingPublicKey(input.bytes('xwing'));
    return {};
  },

  'verify-binding-request': async (input) => {
    const { code, publisher, time } = await verifyBindingRequest(input.bytes('request'));
    return { code, publisher, time };
  },

  'accept-binding': async (input) => {
    const provider = providerOf(input);
    const device = await deriveDeviceKeys(input.bytes('seed'), provider);
    const { id, key } = await acceptBinding(input.bytes('request'), input.bytes('answer'), device, provider);
    return { id, key: toBase64(key) };
  },

  'verify-key-request': async (input) => {
    const request = parseKeyRequest(input.bytes('request'));
    if (!(await isRequestBy(request, input.text('keyServer'), input.bytes('deviceKey'))))
      throw new KeyError('request-malformed', 'the request was made by another device');
    return { device: request.device, keys: [...request.keys], time: request.time };
  },

  'open-key-answer': async (input) => {
    const { keys, refused, time } = await openKeyAnswer(
      input.bytes('answer'),
      input.bytes('request'),
      input.bytes('deviceKey'),
    );
    return { keys: keys.map(({ id }) => id), refused: refused.map(({ id, reason }) => `${id} ${reason}`), time };
  },

  'open-bundle': async (input) => {
    const { recipient: _, ...bundle } = await openBundle(input.bytes('bundle'), xwingKeyPair(input.bytes('seed')));
    return bundle as unknown as JsonObject;
  },

  'open-key-file': async (input) => {
    const context = { root: input.text('root'), site: input.text('site') };
    const { name, key } = await keyFileAddressOf(input.bytes('secret'), context);
    const { keys } = await openKeyFile(input.bytes('file'), key, context);
    return { keys: keys.map(({ id }) => id), name };
  },

  'open-roaming': async (input) => {
    const { id, number, written, bindings } = await openRoaming(input.bytes('file'), input.bytes('stretched'));
    const keyServers = bindings.map(({ descriptor }) => descriptor.keyServer);
    return { id, keyServers, number, sites: bindings.flatMap(({ sites }) => [...sites]), written };
  },

  'xwing-decapsulate': async (input) => {
    const { publicKey, secretKey } = xwingKeyPair(input.bytes('seed'));
    const sharedSecret = xwingDecapsulate(input.bytes('ciphertext'), secretKey);
    return { publicKey: toBase64(publicKey), sharedSecret: sharedSecret ? toBase64(sharedSecret) : '' };
  },
};

export function runKeyVector({ operation, input }: KeyVector): Promise<KeyOutcome> {
  return outcomeOf(OPERATIONS[operation], inputOf(input), (error) => error instanceof KeyError && error.code);
}

/** Runs an operation. @param codeOf - code of an error that is an outcome; any other is a bug, and passed on */
export async function outcomeOf<From>(
  run: ((input: From) => JsonObject | Promise<JsonObject>) | undefined,
  input: From,
  codeOf: (error: unknown) => string | false,
): Promise<KeyOutcome> {
  if (run === undefined) throw new Error('there is no such operation');
  try {
    const result = await run(input);
    return { outcome: 'success', ...(Object.keys(result).length > 0 && { result }) };
  } catch (error) {
    const outcome = codeOf(error);
    if (outcome === false) throw error;
    return { outcome };
  }
}

/** The part of a vector that {@link runKeyVector} must return. */
export function expectedKeyOutcome({ outcome, result }: KeyVector): KeyOutcome {
  return { outcome, ...(result && { result }) };
}

function providerOf(input: Input): { keyServer: string; publisher: string } {
  return { keyServer: input.text('keyServer'), publisher: input.text('publisher') };
}
