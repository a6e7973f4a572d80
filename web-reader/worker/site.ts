/** Which site is read at this origin: what the origin says of itself, and what it said at the first visit. */
import { isKeyId } from '../../core/keys/key-id.ts';
import { isOrigin, isSite } from '../../core/site/site.ts';
import { WebReaderError } from '../errors.ts';
import { STATE, type Store } from '../store.ts';

/** `/-/site.json` */
export interface ReadSite {
  readonly site: string;
  /** The root id: whose signatures count. */
  readonly root: string;
  /** Origins of the content hosts, in the publisher's order. */
  readonly content: readonly string[];
  /** Origin of the vault. */
  readonly reading: string;
  readonly version: string;
}

const FILE = '/-/site.json';

/** Milliseconds. */
const TIMEOUT = 10_000;

export class KnownSite {
  readonly #store: Store;
  #known: Promise<ReadSite> | undefined;
  #changed: WebReaderError | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * As it was last known; a newer one is asked for once in the life of a worker, beside.
   *
   * @throws WebReaderError `site-unavailable`, `site-changed`
   */
  async read(): Promise<ReadSite> {
    this.#known ??= this.#load().catch((error: unknown) => {
      this.#known = undefined;
      throw error;
    });
    const known = await this.#known;
    if (this.#changed) throw this.#changed;
    return known;
  }

  async #load(): Promise<ReadSite> {
    const kept = await this.#store.state.get(STATE.site);
    if (isReadSite(kept)) {
      this.#renew(kept).catch(() => undefined); // without a network, what is known has to do
      return kept;
    }
    const first = await fetchSite();
    await this.#store.state.put(STATE.site, first);
    return first;
  }

  /** Content hosts may change; publisher and site may not: what was trusted before would be another's. */
  async #renew(kept: ReadSite): Promise<void> {
    const newer = await fetchSite();
    if (newer.root !== kept.root || newer.site !== kept.site) {
      this.#changed = new WebReaderError('site-changed', `this address had ${kept.site} by ${kept.root}`);
      return;
    }
    this.#known = Promise.resolve(newer);
    await this.#store.state.put(STATE.site, newer);
  }
}

async function fetchSite(): Promise<ReadSite> {
  try {
    const answer = await fetch(FILE, { cache: 'no-cache', signal: AbortSignal.timeout(TIMEOUT) });
    const value: unknown = answer.ok ? await answer.json() : undefined;
    if (isReadSite(value)) return value;
  } catch (cause) {
    throw new WebReaderError('site-unavailable', `${FILE} cannot be fetched`, { cause });
  }
  throw new WebReaderError('site-unavailable', `${FILE} is not of the form that it should have`);
}

function isReadSite(value: unknown): value is ReadSite {
  const { site, root, content, reading, version } = (value ?? {}) as Partial<ReadSite>;
  return (
    isSite(site) &&
    isKeyId(root) &&
    Array.isArray(content) &&
    content.every((origin) => isOrigin(origin, { allowHttp: true })) &&
    isOrigin(reading, { allowLoopback: true }) &&
    typeof version === 'string'
  );
}
