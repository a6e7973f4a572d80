/**
 * The publication of one site, as its reader uses it: what a URL names, how fresh that is, and where the rest is. Steps P1 to P10 of
 * docs/spec/publication.md; P1 to P8 are the client's.
 */
import { sha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { fromUtf8, utf8 } from '../encoding/bytes.ts';
import { toHex } from '../encoding/hex.ts';
import { type MetadataSource, type MetadataStore, PublicationClient, type TrustedState } from './client.ts';
import { type DocumentEntry, documentEntryOf } from './document-entry.ts';
import { PublicationError } from './errors.ts';
import { verifyEd25519 } from './keys.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import { DESCRIPTOR_TARGET, headTargetOf, SETTINGS_TARGET, targetUrlPath } from './names.ts';
import { type Resolution, resolveUrl } from './resolve.ts';
import { parseSettings, type SiteSettings } from './settings.ts';
import { isoTime } from './verify-roles.ts';

/** Where the files of a site come from: metadata, and the small targets that every reader needs. */
export interface SiteSource extends MetadataSource {
  /**
   * A file of the site.
   *
   * @param urlPath - in the spelling of `urlPathOf`
   * @returns `undefined` if there is none
   */
  file(urlPath: string, maximumLength: number): Promise<Uint8Array | undefined>;
}

export interface SitePublicationOptions {
  /** base64url: whose first root it has to be. */
  readonly rootId: string;
  readonly source: SiteSource;
  readonly store: MetadataStore;
}

/** How fresh a publication is. All times in seconds since 1970. */
export interface Freshness {
  /** Of the publication. */
  readonly version: number;
  /** When publisher or key server last said that this is the current one. */
  readonly confirmed: number;
  /** Until when that counts. */
  readonly freshUntil: number;
  /** Until when it is shown all the same, with a word about its age. */
  readonly shownUntil: number;
  readonly stale: boolean;
}

const DESCRIPTOR_LENGTH = 65_536;
const WITHDRAWN = 'wispr:withdrawn';
const NO_SETTINGS: SiteSettings = { cleanUrls: false, grace: 0, redirects: [] };

export class SitePublication {
  readonly #client: PublicationClient;
  readonly #options: SitePublicationOptions;
  #settings: { readonly hash: string; readonly value: SiteSettings } | undefined;
  #withdrawn: ReadonlySet<number> = new Set();
  #loaded: Promise<void> | undefined;

  constructor(options: SitePublicationOptions) {
    this.#options = options;
    const { source, store } = options;
    this.#client = new PublicationClient({
      source,
      store,
      strict: true,
      verify: verifyEd25519,
      grace: PUBLICATION_LIMITS.grace, // that of the settings is checked at each look-up
      firstRoot: () => this.#firstRoot(),
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
    try {
      await this.#client.refresh(now);
    } finally {
      await this.#rememberWithdrawn();
    }
    await this.#readSettings();
  }

  /** The state that is in use; `undefined` before the first {@link refresh}. */
  get state(): TrustedState | undefined {
    return this.#client.state;
  }

  /** Site settings, as of the last publication that was read whole. */
  get settings(): SiteSettings {
    return this.#settings?.value ?? NO_SETTINGS;
  }

  /**
   * Whether documents may be shown now: steps P6 to P9.
   *
   * @throws PublicationError
   */
  freshness(now: number): Freshness {
    const { timestamp, snapshot } = this.#client.check(now);
    const { version } = snapshot;
    if (this.#withdrawn.has(version))
      throw new PublicationError(
        'publication-withdrawn',
        `the publisher has withdrawn publication ${version}, and there is no newer one yet`,
      );
    const shownUntil = timestamp.expires + this.settings.grace;
    if (now > shownUntil)
      throw new PublicationError(
        'publication-expired',
        `this publication was last confirmed on ${isoTime(timestamp.version)}, and could be shown until ${isoTime(shownUntil)}; this machine's clock says ${isoTime(now)}`,
      );
    return {
      version,
      confirmed: timestamp.version,
      freshUntil: timestamp.expires,
      shownUntil,
      stale: now > timestamp.expires,
    };
  }

  /**
   * The entry of a document; `undefined` if the publication says that there is none.
   *
   * @param path - a document path
   */
  async document(path: string, now: number): Promise<DocumentEntry | undefined> {
    this.freshness(now);
    const target = await this.#client.target(headTargetOf(path), now);
    return target && documentEntryOf(target, path);
  }

  /** What the path and query of a URL name. */
  resolve(urlPath: string, now: number): Promise<Resolution> {
    return resolveUrl(urlPath, (path) => this.document(path, now), this.settings);
  }

  /** SHA-256 (hexadecimal) of the descriptor that the publication names. */
  descriptorHash(): string | undefined {
    return this.#client.state?.targets.target(DESCRIPTOR_TARGET)?.sha256;
  }

  /** Fetches the descriptor that the publication names; whether it is any good is the caller's to check. */
  async descriptor(): Promise<Uint8Array> {
    return this.#smallTarget(DESCRIPTOR_TARGET, DESCRIPTOR_LENGTH);
  }

  async #load(): Promise<void> {
    await this.#client.load();
    const kept = fromUtf8((await this.#options.store.read(WITHDRAWN)) ?? new Uint8Array(0)) ?? '';
    this.#withdrawn = new Set(
      kept
        .split(' ')
        .filter((text) => text !== '')
        .map(Number),
    );
    await this.#rememberWithdrawn();
    const settings = await this.#options.store.read(SETTINGS_TARGET);
    if (settings && this.#client.state && toHex(await sha256(settings)) === this.#settingsHash())
      this.#settings = { hash: this.#settingsHash() ?? '', value: parseSettings(settings) };
  }

  async #firstRoot(): Promise<Uint8Array> {
    const { rootId, source } = this.#options;
    const bytes = await source.metadata('1.root.json', PUBLICATION_LIMITS.rootLength);
    if (bytes === undefined) throw new PublicationError('metadata-missing', 'the content hosts have no 1.root.json');
    if (
      bytes.length > PUBLICATION_LIMITS.rootLength ||
      fromBase64url(rootId, 32) === undefined ||
      toBase64url(await sha256(bytes)) !== rootId
    )
      throw new PublicationError(
        'root-unexpected',
        'the first root of this site is another one than its publisher was bound with',
      );
    return bytes;
  }

  /** For good: a timestamp of later may not say it any more. */
  async #rememberWithdrawn(): Promise<void> {
    const told = this.#client.newestTimestamp?.withdrawn ?? [];
    if (told.every((version) => this.#withdrawn.has(version))) return;
    const all = [...new Set([...this.#withdrawn, ...told])].sort((a, b) => a - b);
    this.#withdrawn = new Set(all);
    await this.#options.store.write(WITHDRAWN, utf8(all.join(' ')));
  }

  #settingsHash(): string | undefined {
    return this.#client.state?.targets.target(SETTINGS_TARGET)?.sha256;
  }

  async #readSettings(): Promise<void> {
    const hash = this.#settingsHash();
    if (hash === undefined) throw new PublicationError('metadata-missing', 'the publication has no site settings');
    if (hash === this.#settings?.hash) return;
    const bytes = await this.#smallTarget(SETTINGS_TARGET, PUBLICATION_LIMITS.settingsLength);
    this.#settings = { hash, value: parseSettings(bytes) };
    await this.#options.store.write(SETTINGS_TARGET, bytes);
  }

  async #smallTarget(path: string, maximum: number): Promise<Uint8Array> {
    const target = this.#client.state?.targets.target(path);
    if (target === undefined) throw new PublicationError('metadata-missing', `the publication does not name ${path}`);
    const bytes =
      target.length <= maximum
        ? await this.#options.source.file(targetUrlPath(path, target.sha256), target.length)
        : undefined;
    if (bytes === undefined) throw new PublicationError('metadata-missing', `the content hosts do not have ${path}`);
    if (bytes.length !== target.length || toHex(await sha256(bytes)) !== target.sha256)
      throw new PublicationError('metadata-mismatch', `${path} is not the file that the publication names`);
    return bytes;
  }
}
