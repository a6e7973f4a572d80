/** The period keys of one binding, and the set keys that they open. A wrong envelope is no refusal: the server is asked. */
import { type KeyId, keyIdBytes } from '../../core/crypto/key-id.ts';
import { readU32 } from '../../core/encoding/bytes.ts';
import { parseEnvelope } from '../../core/keys/envelope.ts';
import type { KeyAnswer } from '../../core/keys/key-request.ts';
import { type NamedKey, unwrapKey, type WrappedKey } from '../../core/keys/wrapped-key.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import type { SitePublication } from '../../core/publication/site-publication.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { ReaderStore } from '../store/store.ts';
import type { StoredBinding } from '../store/types.ts';

const MAXIMUM_KEPT = 64;

type Envelope = ReadonlyMap<KeyId, WrappedKey>;

export interface PeriodKeysOptions {
  readonly binding: StoredBinding;
  readonly store: ReaderStore;
  /** Publications of the binding's sites: they name the envelopes. */
  readonly publications: () => readonly SitePublication[];
}

export class PeriodKeys {
  readonly #options: PeriodKeysOptions;
  #keys: Promise<Map<KeyId, SetKey>> | undefined;
  /** Read last, by the hash of the file. */
  readonly #envelopes = new Map<KeyId, { readonly hash: string; readonly keys: Promise<Envelope> }>();
  /** Keys for whose successors the key server was asked. */
  readonly #renewed = new Set<KeyId>();

  constructor(options: PeriodKeysOptions) {
    this.#options = options;
  }

  /** The key of a set, out of an envelope in the current publication. */
  async find(set: KeyId): Promise<SetKey | undefined> {
    for (const [id, period] of await this.#held()) {
      const key = await this.#findIn(id, period, set).catch(() => undefined);
      if (key) return key;
    }
    return undefined;
  }

  /** Keeps the period keys in an answer to a device key. Ones that fail a check are dropped. */
  async accept({ keys }: KeyAnswer, deviceKey: NamedKey): Promise<void> {
    const { binding, store } = this.#options;
    const held = await this.#held();
    const fresh = new Map<KeyId, SetKey>();
    for (const wrapped of keys) {
      if (wrapped.kind !== 'period' || held.has(wrapped.id) || held.size + fresh.size >= MAXIMUM_KEPT) continue;
      const { id, notBefore, notAfter } = wrapped;
      const key = await unwrapKey(deviceKey, wrapped, nowInSeconds()).catch(() => undefined);
      if (key) fresh.set(id, { key, notBefore, notAfter });
    }
    if (fresh.size === 0) return;
    await store.periodKeys.save(binding.id, fresh);
    for (const [id, key] of fresh) held.set(id, key);
  }

  /**
   * Has the successors asked for of those periods for which it is time: before they end, each device at a time of its own. Once each, but
   * again after a failure.
   *
   * @throws what `ask` throws; errors of the store
   */
  async renew(ask: (ids: readonly KeyId[]) => Promise<void>): Promise<void> {
    const held = await this.#held();
    const now = nowInSeconds();
    const fraction = readU32(keyIdBytes(this.#options.binding.deviceKey.id)) / 2 ** 32;
    const isDue = (id: KeyId, key: SetKey) =>
      !this.#renewed.has(id) && now >= renewalOf(key, fraction) && !hasSuccessor(key, held.values());
    const due = Array.from(held).flatMap(([id, key]) => (isDue(id, key) ? [id] : []));
    if (due.length === 0) return;
    for (const id of due) this.#renewed.add(id);
    try {
      await ask(due);
    } catch (error) {
      for (const id of due) this.#renewed.delete(id);
      throw error;
    }
  }

  async #held(): Promise<Map<KeyId, SetKey>> {
    this.#keys ??= this.#load().catch((error: unknown) => {
      this.#keys = undefined;
      throw error;
    });
    const keys = await this.#keys;
    const now = nowInSeconds();
    for (const [id, { notAfter }] of keys) if (notAfter < now) keys.delete(id);
    return keys;
  }

  async #load(): Promise<Map<KeyId, SetKey>> {
    const { binding, store } = this.#options;
    store.periodKeys.removeEnded(binding.id, nowInSeconds());
    const keys = new Map<KeyId, SetKey>();
    for (const { id } of store.periodKeys.times(binding.id)) {
      const key = await store.periodKeys.get(binding.id, id);
      if (key) keys.set(id, key);
    }
    return keys;
  }

  async #findIn(id: KeyId, period: SetKey, set: KeyId): Promise<SetKey | undefined> {
    const wrapped = (await this.#envelopeOf(id))?.get(set);
    if (wrapped === undefined) return undefined;
    const key = await unwrapKey({ id, key: period.key }, wrapped, nowInSeconds());
    return {
      key,
      notBefore: Math.max(wrapped.notBefore, period.notBefore),
      notAfter: Math.min(wrapped.notAfter, period.notAfter),
    };
  }

  /** Fetched only where the publication names another one than before. */
  async #envelopeOf(id: KeyId): Promise<Envelope | undefined> {
    const publication = this.#options.publications().find((one) => one.envelopeHash(id) !== undefined);
    const hash = publication?.envelopeHash(id);
    if (publication === undefined || hash === undefined) return undefined;
    const known = this.#envelopes.get(id);
    if (known?.hash === hash) return known.keys;
    const keys = publication.envelope(id).then((bytes) => {
      return new Map(parseEnvelope(bytes, id).map((wrapped) => [wrapped.id, wrapped]));
    });
    const read = { hash, keys };
    this.#envelopes.set(id, read);
    keys.catch(() => {
      if (this.#envelopes.get(id) === read) this.#envelopes.delete(id);
    });
    return keys;
  }
}

/**
 * Tells when the next period's key is asked for: between a sixth and a twelfth of a key's time before its end. The next one is given out a quarter
 * of a period ahead, which is a fifth of that time.
 */
function renewalOf({ notBefore, notAfter }: SetKey, fraction: number): number {
  return notAfter - ((notAfter - notBefore) * (2 - fraction)) / 12;
}

/** Tells whether one of about the same length follows: days, weeks and months are told apart, and plans need not be. */
function hasSuccessor({ notBefore, notAfter }: SetKey, held: Iterable<SetKey>): boolean {
  return [...held].some((other) => {
    const ratio = (other.notAfter - other.notBefore) / (notAfter - notBefore);
    const follows = other.notBefore > notBefore && other.notBefore <= notAfter && other.notAfter > notAfter;
    return follows && ratio > 2 / 3 && ratio < 3 / 2;
  });
}
