/** Site that is read at this origin: site and root id are part of the program that the origin gives, and its content hosts may change. */
import { isKeyId } from '../../core/crypto/key-id.ts';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { isOrigin, isSite } from '../../core/site/site.ts';
import { WebReaderError } from '../errors.ts';
import { fetchSmall } from '../fetching.ts';
import { type OriginStore, STATE } from '../store.ts';
import { scope } from './scope.ts';

export interface ReadSite {
  readonly site: string;
  /** The root id: whose signatures count. */
  readonly root: string;
  /** Origins of the content hosts, in the publisher's order. */
  readonly content: readonly string[];
}

export const SITE_FILE = '/-/site.json';

/** Bytes. */
const LONGEST = 16_384;

/** Milliseconds. */
const TIMEOUT = 10_000;

export class StoredSite {
  readonly #store: OriginStore;
  #known: Promise<ReadSite> | undefined;
  #changed: WebReaderError | undefined;

  constructor(store: OriginStore) {
    this.#store = store;
  }

  /**
   * Reads it as it was last known; a newer one is asked for once in the life of a worker, beside.
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
    const kept = await this.#store.state.get(STATE.content);
    if (!areHosts(kept)) return this.#renew();
    this.#renew().catch(() => undefined); // errors pass: without a network, what is known has to do.
    return { ...scope.wisprSite, content: kept };
  }

  async #renew(): Promise<ReadSite> {
    const site = await fetchSite();
    const { wisprSite } = scope;
    if (site.root !== wisprSite.root || site.site !== wisprSite.site) {
      this.#changed = new WebReaderError('site-changed', `this address had ${wisprSite.site} by ${wisprSite.root}`);
      throw this.#changed;
    }
    const known = { ...site, content: hostsOf(site) };
    await this.#store.state.put(STATE.content, known.content);
    this.#known = Promise.resolve(known);
    return known;
  }
}

/** Lists this origin first without a key server: it is a content host itself, whatever it is called elsewhere. */
function hostsOf({ content }: ReadSite): readonly string[] {
  const { location, wisprSite } = scope;
  return wisprSite.reading === undefined ? [...new Set([location.origin, ...content])] : content;
}

/** Fetches it without cookies: published scripts can set more of them than the origin takes. */
async function fetchSite(): Promise<ReadSite> {
  try {
    const { origin } = scope.location;
    const wish = { maximumLength: LONGEST, milliseconds: TIMEOUT, cache: 'no-cache' } as const;
    const bytes = (await fetchSmall({ origin, path: SITE_FILE, ...wish })) ?? new Uint8Array();
    const value: unknown = bytes.length > LONGEST ? undefined : JSON.parse(fromUtf8(bytes) ?? '');
    if (isReadSite(value)) return value;
  } catch (cause) {
    throw new WebReaderError('site-unavailable', `${SITE_FILE} cannot be fetched`, { cause });
  }
  throw new WebReaderError('site-unavailable', `${SITE_FILE} is not of the form that it should have`);
}

function isReadSite(value: unknown): value is ReadSite {
  const { site, root, content } = (value ?? {}) as Partial<ReadSite>;
  return isSite(site) && isKeyId(root) && areHosts(content);
}

function areHosts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((origin) => isOrigin(origin, { allowHttp: true }));
}
