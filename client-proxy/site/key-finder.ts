/**
 * Finds set keys: in memory, in the store, in the envelopes of periods, then from the key server. Ids that are wanted at the same time travel
 * in one request, one id is never asked for twice at once, and a refusal is remembered for a while.
 */
import { LRUCache } from 'lru-cache';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { acceptBinding, encodeRenewalRequest } from '../../core/keys/binding.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { encodeKeyRequest, type KeyAnswer, openKeyAnswer } from '../../core/keys/key-request.ts';
import { MAXIMUM_KEYS_PER_REQUEST, type RefusalReason } from '../../core/keys/refused-key.ts';
import { type NamedKey, unwrapKey, type WrappedKey } from '../../core/keys/wrapped-key.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { ReaderError, type ReaderErrorCode } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { ReaderStore } from '../store/store.ts';
import type { StoredBinding } from '../store/types.ts';
import { clockOff, type KeyServerChannel, sendKeyRequest, sendRenewalRequest } from './key-server.ts';
import { PeriodKeys, type PeriodKeysOptions } from './period-keys.ts';

interface PendingKey extends PromiseWithResolvers<SetKey> {
  readonly id: KeyId;
}

type KeyResults = ReadonlyMap<KeyId, SetKey | Error>;

/** Answers that will be the same if asked again at once. */
const LASTING: readonly ReaderErrorCode[] = ['not-entitled', 'lapsed', 'revoked'];

/** Tells whether the key server has said that the reader does not get a key, rather than the key being out of reach. */
export function isLastingRefusal(error: Error): boolean {
  return error instanceof ReaderError && LASTING.includes(error.code);
}

export class KeyFinder {
  readonly #binding: StoredBinding;
  readonly #store: ReaderStore;
  readonly #channel: KeyServerChannel;
  readonly #periods: PeriodKeys;
  readonly #keys = new Map<KeyId, SetKey>();
  readonly #underWay = new Map<KeyId, Promise<SetKey>>();
  readonly #refused = new LRUCache<KeyId, Error>({
    maxSize: LIMITS.refusedKeys,
    sizeCalculation: () => 1,
    ttl: LIMITS.refusedKeysFor,
  });
  readonly #batch: PendingKey[] = [];
  #deviceKey: NamedKey;
  #renewing: Promise<void> | undefined;
  #isRevoked = false;

  constructor({ channel, ...options }: PeriodKeysOptions & { readonly channel: KeyServerChannel }) {
    this.#binding = options.binding;
    this.#deviceKey = options.binding.deviceKey;
    this.#store = options.store;
    this.#channel = channel;
    this.#periods = new PeriodKeys(options);
  }

  /** Tells whether the key server said last that the publisher has disconnected this device. */
  get isRevoked(): boolean {
    return this.#isRevoked;
  }

  /** The key of a set. @throws ReaderError why there is none, or of the exchange; KeyError, ObjectError of its checks */
  readonly find = async (id: KeyId): Promise<SetKey> => {
    const known = this.#keys.get(id);
    if (known && isUsable(known)) return known;
    const found = this.#underWay.get(id) ?? this.#lookUp(id).finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, found);
    return found;
  };

  /** The key of a set, if the store has it, whatever its time. */
  readonly findKept = (id: KeyId): Promise<SetKey | undefined> => this.#store.setKeys.get(this.#binding.id, id);

  async #lookUp(id: KeyId): Promise<SetKey> {
    const stored = await this.#store.setKeys.get(this.#binding.id, id);
    const key = stored && isUsable(stored) ? stored : ((await this.#fromEnvelope(id)) ?? (await this.#askFor(id)));
    this.#keys.set(id, key);
    return key;
  }

  async #fromEnvelope(id: KeyId): Promise<SetKey | undefined> {
    const key = await this.#periods.find(id);
    if (key === undefined || !isUsable(key)) return undefined;
    await this.#store.setKeys.save(this.#binding.id, new Map([[id, key]]));
    void this.#renewPeriods();
    return key;
  }

  /** Requests the keys of following periods in the background. Errors are ignored: no reader waits for these keys. */
  #renewPeriods(): Promise<void> {
    return this.#periods.renew(async (due) => void (await this.#ask(due))).catch(() => undefined);
  }

  #askFor(id: KeyId): Promise<SetKey> {
    const refused = this.#refused.get(id);
    if (refused) throw refused;
    // Requests of one turn of the event loop share a message.
    if (this.#batch.length === 0) setImmediate(() => this.#sendBatch());
    const pending = { id, ...Promise.withResolvers<SetKey>() };
    this.#batch.push(pending);
    return pending.promise;
  }

  #sendBatch(): void {
    const batch = this.#batch.splice(0);
    for (let start = 0; start < batch.length; start += MAXIMUM_KEYS_PER_REQUEST)
      void this.#answer(batch.slice(start, start + MAXIMUM_KEYS_PER_REQUEST));
  }

  async #answer(batch: readonly PendingKey[]): Promise<void> {
    try {
      const results = await this.#request(batch.map(({ id }) => id));
      for (const pending of batch) {
        const result = results.get(pending.id);
        if (result instanceof Error) this.#refuse(pending, result);
        else if (result) pending.resolve(result);
      }
    } catch (error) {
      if (isRevocation(error)) this.#isRevoked = true;
      for (const pending of batch) this.#refuse(pending, error as Error);
    }
  }

  #refuse({ id, reject }: PendingKey, error: Error): void {
    if (isLastingRefusal(error)) this.#refused.set(id, error);
    reject(error);
  }

  async #request(ids: readonly KeyId[]): Promise<KeyResults> {
    const answer = await this.#ask(ids).catch(async (error: unknown) => {
      if (!isRevocation(error)) throw error;
      await this.#renew(); // the key server may have forgotten this device's key alone
      return this.#ask(ids);
    });
    const results = new Map<KeyId, SetKey | Error>();
    for (const id of ids) results.set(id, await this.#resultOf(id, answer));
    const good = Array.from(results).filter((entry): entry is [KeyId, SetKey] => !(entry[1] instanceof Error));
    if (good.length > 0) await this.#store.setKeys.save(this.#binding.id, new Map(good));
    this.#isRevoked = [...results.values()].some(isRevocation);
    return results;
  }

  /** Keeps the period keys in the answer, and returns it. */
  async #ask(ids: readonly KeyId[]): Promise<KeyAnswer> {
    const request = await encodeKeyRequest(this.#deviceKey, this.#binding.descriptor.keyServer, ids, nowInSeconds());
    const sealed = await sendKeyRequest(this.#channel, request);
    const answer = await openKeyAnswer(sealed, request, this.#deviceKey.key);
    await this.#periods.accept(answer, this.#deviceKey);
    return answer;
  }

  /** Gets another device key in place of the one that the key server does not take any more. Concurrent requests share one renewal. */
  #renew(): Promise<void> {
    this.#renewing ??= this.#renewDeviceKey().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** @throws as `sendRenewalRequest`; KeyError `binding-malformed`; of the store */
  async #renewDeviceKey(): Promise<void> {
    const { keyServer, publisher } = this.#binding.descriptor;
    const provider = { keyServer, publisher };
    const device = await deriveDeviceKeys(await this.#store.deviceSeed(), provider);
    const request = encodeRenewalRequest(device, publisher, nowInSeconds());
    const answer = await sendRenewalRequest(this.#channel, request);
    this.#deviceKey = await acceptBinding(request, answer, device, provider);
    await this.#store.saveDeviceKey(provider, this.#deviceKey);
  }

  /** Ignores keys that were not requested. A key that fails a check is dropped, and not stored. */
  async #resultOf(id: KeyId, answer: KeyAnswer): Promise<SetKey | Error> {
    const { descriptor } = this.#binding;
    const wrapped = answer.keys.find((key) => key.id === id && key.kind === 'set');
    if (wrapped === undefined) {
      const { reason = 'not-entitled' } = answer.refused.find((refusal) => refusal.id === id) ?? {};
      return refusal(reason, descriptor.keyServer, answer.time);
    }
    const { notBefore, notAfter } = wrapped;
    try {
      return { key: await unwrapKey(this.#deviceKey, wrapped, nowInSeconds()), notBefore, notAfter };
    } catch (error) {
      if (error instanceof KeyError && error.code === 'key-not-valid-now') return notValidNow(wrapped, error);
      return error as Error;
    }
  }
}

function isRevocation(result: unknown): boolean {
  return result instanceof ReaderError && result.code === 'revoked';
}

/** A key outside its time is asked for again: its validity may have been extended. */
function isUsable({ notBefore, notAfter }: SetKey): boolean {
  const now = nowInSeconds();
  return notBefore <= now && now <= notAfter;
}

/** The times are authenticated: this is found out only after the tag has passed. */
function notValidNow({ notBefore, notAfter }: WrappedKey, cause: Error): ObjectError {
  const [from, until] = [notBefore, notAfter].map((time) => new Date(time * 1000).toISOString());
  return new ObjectError('key-not-valid-now', `the key of this set is valid from ${from} until ${until}`, { cause });
}

function refusal(reason: RefusalReason, keyServer: string, theirTime: number): ReaderError {
  switch (reason) {
    case 'lapsed':
      return new ReaderError('lapsed', 'your subscription does not cover this document any more');
    case 'revoked':
      return new ReaderError('revoked', 'this device was disconnected by the publisher');
    case 'stale-request':
      return clockOff(keyServer, theirTime);
    case 'replayed-request':
      return new ReaderError('key-server-answer', `${keyServer} says that it has seen this request before`);
    case 'not-entitled':
      return new ReaderError('not-entitled', 'your subscription does not include this document');
  }
}
