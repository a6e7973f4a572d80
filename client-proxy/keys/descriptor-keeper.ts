/** Keeps the descriptor of a binding current: one past its expiry is not used, and an old one is fetched again beside the reading. */
import type { Dispatcher } from 'undici';
import { KeyError } from '../../core/keys/errors.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { LIMITS } from '../limits.ts';
import type { ReaderStore, StoredBinding } from '../store/store.ts';
import { fetchDescriptor } from './key-server.ts';

export class DescriptorKeeper {
  readonly #binding: StoredBinding;
  readonly #store: ReaderStore;
  readonly #dispatcher: Dispatcher;
  #renewal: Promise<void> | undefined;
  #nextAttempt = 0;

  constructor(binding: StoredBinding, store: ReaderStore, dispatcher: Dispatcher) {
    this.#binding = binding;
    this.#store = store;
    this.#dispatcher = dispatcher;
  }

  /**
   * Called before a document is read. Waits only where the descriptor has expired; `true` if there is a newer one now, for which the
   * bindings have to be read again.
   *
   * @throws KeyError `descriptor-expired`
   */
  ensure(): undefined | Promise<boolean> {
    const { descriptor, descriptorFetched } = this.#binding;
    const now = nowInSeconds();
    if (now > descriptor.expires) return this.#renewNow();
    if (now - descriptorFetched > LIMITS.descriptorAge / 1000) this.#renew().catch(() => undefined);
    return undefined;
  }

  async #renewNow(): Promise<boolean> {
    const expired = new Date(this.#binding.descriptor.expires * 1000).toISOString();
    try {
      await this.#renew();
      return true;
    } catch (cause) {
      throw new KeyError('descriptor-expired', `what the publisher signed about this site expired on ${expired}`, {
        cause,
      });
    }
  }

  #renew(): Promise<void> {
    if (Date.now() < this.#nextAttempt) return Promise.reject(new Error('the key server was asked a moment ago'));
    this.#renewal ??= this.#fetch().finally(() => {
      this.#renewal = undefined;
      this.#nextAttempt = Date.now() + LIMITS.descriptorRetry;
    });
    return this.#renewal;
  }

  /** The sites that a newer descriptor adds stay inactive: only the reader's confirmation puts a site into the store. */
  async #fetch(): Promise<void> {
    const { publisher, keyServer, issued } = this.#binding.descriptor;
    const { descriptor, bytes } = await fetchDescriptor(this.#dispatcher, keyServer);
    if (descriptor.publisher !== publisher || descriptor.issued < issued)
      throw new KeyError(
        'descriptor-malformed',
        'the key server shows a descriptor of another publisher, or an older one',
      );
    this.#store.saveDescriptor(descriptor, bytes, nowInSeconds());
  }
}
