/** Keeps the descriptor of a binding current: the key server is asked only for an expired one without a newer. */
import type { Dispatcher } from 'undici';
import { hexDigest } from '../../core/encoding/digest.ts';
import { type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { KeyError } from '../../core/keys/errors.ts';
import type { SitePublication } from '../../core/publication/site-publication.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { LIMITS } from '../limits.ts';
import type { ReaderStore } from '../store/store.ts';
import type { StoredBinding } from '../store/types.ts';
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
   * Called before a document is read. Waits only where the descriptor has expired.
   *
   * @returns whether there is a newer one now, for which the bindings have to be read again
   * @throws KeyError `descriptor-expired`
   */
  async ensure(): Promise<boolean> {
    const { expires } = this.#binding.descriptor;
    if (nowInSeconds() <= expires) return false;
    try {
      await this.#renew();
      return true;
    } catch (cause) {
      const expired = new Date(expires * 1000).toISOString();
      throw new KeyError('descriptor-expired', `what is signed about this site expired on ${expired}`, { cause });
    }
  }

  /**
   * Takes over the descriptor that a publication names, if it is newer, or the one at hand is by another key: that was only a claim of the key
   * server's then, and it is the publication that says which key it is. One that is no good leaves things as they are: its expiry will tell.
   *
   * @throws PublicationError, ReadingError: it could not be had
   */
  async follow(publication: SitePublication): Promise<void> {
    const { descriptorBytes } = this.#binding;
    if (publication.descriptorHash() === (await hexDigest(descriptorBytes))) return;
    const bytes = await publication.descriptor();
    const descriptor = await verifyDescriptor(bytes, nowInSeconds()).catch(ignoreRefusal);
    if (descriptor && this.#isOfSame(descriptor) && (this.#isNewer(descriptor) || !this.#isBySameKey(descriptor)))
      this.#store.saveDescriptor(descriptor, bytes, nowInSeconds());
  }

  async #renew(): Promise<void> {
    if (Date.now() < this.#nextAttempt) throw new Error('the key server was asked a moment ago');
    this.#renewal ??= this.#fetch().finally(() => {
      this.#renewal = undefined;
      this.#nextAttempt = Date.now() + LIMITS.descriptorRetry;
    });
    return this.#renewal;
  }

  /**
   * The sites that a newer descriptor adds stay inactive: only the reader's confirmation puts a site into the store. Nor does a key server say
   * which key the publisher has: any signer can write a descriptor that names this root.
   */
  async #fetch(): Promise<void> {
    const { descriptor, bytes } = await fetchDescriptor(this.#dispatcher, this.#binding.descriptor.keyServer);
    if (!this.#isOfSame(descriptor) || !this.#isNewer(descriptor) || !this.#isBySameKey(descriptor))
      throw new KeyError('descriptor-malformed', 'the key server shows that of another publisher, or an older one');
    this.#store.saveDescriptor(descriptor, bytes, nowInSeconds());
  }

  /** Compares both: a new key server needs a new binding. */
  #isOfSame({ publisher, keyServer }: VerifiedDescriptor): boolean {
    const { descriptor } = this.#binding;
    return publisher === descriptor.publisher && keyServer === descriptor.keyServer;
  }

  #isNewer({ issued }: VerifiedDescriptor): boolean {
    return issued >= this.#binding.descriptor.issued;
  }

  #isBySameKey({ publisherKey }: VerifiedDescriptor): boolean {
    return publisherKey === this.#binding.descriptor.publisherKey;
  }
}

function ignoreRefusal(error: unknown): undefined {
  if (error instanceof KeyError) return undefined;
  throw error;
}
