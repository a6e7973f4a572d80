/**
 * The publication of one site, as its reader uses it: what a URL names, how fresh that is, and where the rest is. Steps P1 to P10 of
 * docs/spec/publication.md; P1 to P8 are the client's.
 */
import { sha256 } from '#primitives';
import type { KeyId } from '../crypto/key-id.ts';
import { fromBase64url } from '../encoding/base64url.ts';
import { equalBytes } from '../encoding/bytes.ts';
import { hexDigest } from '../encoding/digest.ts';
import { toHex } from '../encoding/hex.ts';
import { envelopeTargetOf } from '../keys/envelope.ts';
import { MESSAGE_LIMITS } from '../keys/limits.ts';
import { type MetadataSource, type MetadataStore, PublicationClient, type TrustedState } from './client.ts';
import type { Step } from './delegated-roles.ts';
import { type DocumentEntry, documentEntryOf } from './document-entry.ts';
import { PublicationError } from './errors.ts';
import { verifyEd25519 } from './keys.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import { isoTime, type TargetInfo, type TargetsMetadata } from './metadata.ts';
import { DESCRIPTOR_TARGET, FIRST_ROOT_FILE, headTargetOf, SETTINGS_TARGET, targetUrlPath } from './names.ts';
import { type Resolution, resolveUrl } from './resolve.ts';
import type { SiteSettings } from './settings.ts';
import { readSettings, type StoredSettings, storeSettings } from './stored-settings.ts';

/** Source of the files of a site: metadata, and the small targets that every reader needs. */
export interface SiteSource extends MetadataSource {
  /**
   * A file of the site.
   *
   * @param urlPath - in the spelling of `urlPathOf`
   * @param sha256 - as for `metadata`
   * @returns `undefined` if there is none
   */
  file(urlPath: string, maximumLength: number, sha256?: string): Promise<Uint8Array | undefined>;
}

export interface SitePublicationOptions {
  /** base64url: whose first root it has to be. */
  readonly rootId: string;
  readonly source: SiteSource;
  readonly store: MetadataStore;
  /** Tells whether others can write to the store: then settings in it count only if the publication beside them names them. */
  readonly isStoreOpen?: boolean;
}

/** Freshness of a publication: times in seconds since 1970. */
export interface Freshness {
  readonly version: number;
  /** Time at which publisher or key server last said that this is the current one. */
  readonly confirmed: number;
  /** Time until which that counts. */
  readonly freshUntil: number;
  /** Time until which it is shown all the same, with a word about its age. */
  readonly shownUntil: number;
  readonly stale: boolean;
}

/** A publication that cannot be shown any more, as it was. */
export interface PastPublication {
  readonly publication: SitePublication;
  /** The moment to judge by, in seconds since 1970: publication, documents and keys. */
  readonly time: number;
  readonly freshness: Freshness;
}

const DESCRIPTOR_LENGTH = 65_536;
/** Fetches nothing. */
const NO_SOURCE: SiteSource = {
  metadata: async () => undefined,
  file: async () => undefined,
  async *timestamps() {
    // yields none
  },
};
const NO_SETTINGS: SiteSettings = { cleanUrls: false, grace: 0, redirects: [] };

export class SitePublication {
  readonly #client: PublicationClient;
  readonly #options: SitePublicationOptions;
  readonly #store: MetadataStore;
  #settings: StoredSettings | undefined;
  #loaded: Promise<void> | undefined;
  /** Made once, for pages load many documents. */
  #past: { readonly state: TrustedState; readonly publication: SitePublication } | undefined;

  constructor(options: SitePublicationOptions) {
    this.#options = options;
    const { source, rootId } = options;
    this.#store = storeFor(rootId, options.store);
    this.#client = new PublicationClient({
      source,
      store: this.#store,
      strict: true,
      verify: verifyEd25519,
      grace: PUBLICATION_LIMITS.grace, // the grace of the settings is checked at each look-up
      firstRoot: () => this.#firstRoot(),
      beforeUse: (state) => this.#readSettings(state),
    });
  }

  /** Reads what the store has; nothing is fetched if it has what is needed. */
  load(): Promise<void> {
    this.#loaded ??= this.#load().catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }

  /**
   * Looks for a newer publication. If it fails, what was there before stays in use as long as it may.
   *
   * @param now - seconds since 1970
   * @throws PublicationError, and whatever the source throws
   */
  async refresh(now: number): Promise<void> {
    await this.load();
    await this.#client.refresh(now);
  }

  /** The state that is in use; `undefined` before the first {@link refresh}, and while the publication is withdrawn. */
  get state(): TrustedState | undefined {
    return this.#client.state;
  }

  /** Tells whether the newest publication is a closing one. */
  get isWithdrawn(): boolean {
    return this.#client.closedVersion !== undefined;
  }

  /** Site settings, as of the last publication that was read whole; the strictest before there is one. */
  get settings(): SiteSettings {
    return this.#settings?.value ?? NO_SETTINGS;
  }

  /** Tells whether documents may be shown now: steps P6 to P9. @throws PublicationError */
  freshness(now: number): Freshness {
    const { timestamp, snapshot } = this.#client.check(now);
    const shownUntil = timestamp.expires + this.settings.grace;
    if (now >= shownUntil)
      throw new PublicationError(
        'publication-expired',
        `this publication was last confirmed on ${isoTime(timestamp.version)}, and could be shown until ${isoTime(shownUntil)}; this machine's clock says ${isoTime(now)}`,
      );
    return {
      version: snapshot.version,
      confirmed: timestamp.version,
      freshUntil: timestamp.expires,
      shownUntil,
      stale: now >= timestamp.expires,
    };
  }

  /**
   * The publication as it was at the last moment at which it could be shown, for documents that are kept where they are read (section 6,
   * "After the grace period"): what is
   * asked of it is judged by that moment, and fetches nothing. There is none while it can be shown now, where the publisher does not permit
   * it, where the publication was withdrawn or a newer one is known, and where the clock is before it.
   *
   * @throws PublicationError where the store has no good one
   */
  async asOf(now: number): Promise<PastPublication | undefined> {
    await this.load();
    const { state, settings } = this;
    if (state === undefined || this.#client.isBehind || !settings.keptAfterGrace) return undefined;
    const { root, timestamp, snapshot, targets } = state;
    const end = Math.min(timestamp.expires + settings.grace, root.expires, snapshot.expires, targets.expires);
    if (now < end) return undefined;
    if (this.#past?.state !== state) {
      const publication = new SitePublication({ ...this.#options, source: NO_SOURCE });
      await publication.load();
      this.#past = { state, publication };
    }
    const { publication } = this.#past;
    if (publication.#client.isBehind) return undefined;
    const time = end - 1;
    return { publication, time, freshness: publication.freshness(time) };
  }

  /** The entry of a document; `undefined` if the publication says that there is none. @param path - a document path */
  async document(path: string, now: number): Promise<DocumentEntry | undefined> {
    this.freshness(now);
    const target = await this.#client.target(headTargetOf(path), now);
    return target && documentEntryOf(target, path);
  }

  /** Reads a delegated role as of a state, for listing.ts. @throws PublicationError */
  role(step: Step, state: TrustedState): Promise<TargetsMetadata> {
    return this.#client.role(step, state);
  }

  /** Resolves path and query of a URL. @throws PublicationError */
  async resolve(urlPath: string, now: number): Promise<Resolution> {
    this.freshness(now);
    if (this.#settings === undefined) throw new PublicationError('metadata-missing', 'the site settings were lost');
    return resolveUrl(urlPath, (path) => this.document(path, now), this.settings);
  }

  /** SHA-256 (hexadecimal) of the descriptor that the publication names. */
  descriptorHash(): string | undefined {
    return this.#client.state?.targets.target(DESCRIPTOR_TARGET)?.sha256;
  }

  /** Fetches the descriptor that the publication names; whether it is any good is the caller's to check. */
  async descriptor(): Promise<Uint8Array> {
    this.#client.checkOpen();
    return this.#smallTarget(DESCRIPTOR_TARGET, this.state?.targets.target(DESCRIPTOR_TARGET), DESCRIPTOR_LENGTH);
  }

  /** SHA-256 (hexadecimal) of the key envelope of a period, where the publication names one: keys.md section 3. */
  envelopeHash(period: KeyId): string | undefined {
    return this.state?.targets.target(envelopeTargetOf(period))?.sha256;
  }

  /** Fetches that envelope; whether it is any good is the caller's to check. @throws PublicationError */
  async envelope(period: KeyId): Promise<Uint8Array> {
    const path = envelopeTargetOf(period);
    return this.#smallTarget(path, this.state?.targets.target(path), MESSAGE_LIMITS.envelope);
  }

  async #load(): Promise<void> {
    await this.#client.load();
    const kept = await readSettings(this.#store);
    const named = this.state?.targets.target(SETTINGS_TARGET)?.sha256;
    if (!this.#options.isStoreOpen || kept?.hash === named) this.#settings = kept;
  }

  async #firstRoot(): Promise<Uint8Array> {
    const { rootId, source } = this.#options;
    const id = fromBase64url(rootId, 32) ?? new Uint8Array();
    const bytes = await source.metadata(FIRST_ROOT_FILE, PUBLICATION_LIMITS.rootLength, toHex(id));
    if (bytes === undefined) throw new PublicationError('metadata-missing', 'the content hosts have no 1.root.json');
    if (bytes.length > PUBLICATION_LIMITS.rootLength || !equalBytes(await sha256(bytes), id))
      throw new PublicationError(
        'root-unexpected',
        'the first root of this site is another one than its publisher was bound with',
      );
    return bytes;
  }

  /** The settings of a publication that is about to be used. */
  async #readSettings({ targets }: TrustedState): Promise<void> {
    const target = targets.target(SETTINGS_TARGET);
    if (target?.sha256 === this.#settings?.hash && target) return;
    const bytes = await this.#smallTarget(SETTINGS_TARGET, target, PUBLICATION_LIMITS.settingsLength);
    this.#settings = await storeSettings(this.#store, bytes);
  }

  async #smallTarget(path: string, target: TargetInfo | undefined, maximum: number): Promise<Uint8Array> {
    if (target === undefined) throw new PublicationError('metadata-missing', `the publication does not name ${path}`);
    const bytes =
      target.length <= maximum
        ? await this.#options.source.file(targetUrlPath(path, target.sha256), target.length, target.sha256)
        : undefined;
    if (bytes === undefined) throw new PublicationError('metadata-missing', `the content hosts do not have ${path}`);
    if (bytes.length !== target.length || (await hexDigest(bytes)) !== target.sha256)
      throw new PublicationError('metadata-mismatch', `${path} is not the file that the publication names`);
    return bytes;
  }
}

/** Keeps what is stored of one publisher apart from another's, also where a site is connected anew in the same place. */
export function storeFor(rootId: string, store: MetadataStore): MetadataStore {
  return {
    read: (name) => store.read(`${rootId} ${name}`),
    write: (name, bytes) => store.write(`${rootId} ${name}`, bytes),
  };
}
