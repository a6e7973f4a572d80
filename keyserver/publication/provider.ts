/** The publisher that this key server serves: its pinned identity, and its descriptor. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { type SiteDescription, type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { parseSettings, type SiteSettings } from '../../core/publication/settings.ts';
import { KeyServerError } from '../errors.ts';
import type { Database } from '../storage/database.ts';

export interface Provider {
  readonly publisher: KeyId;
  /** The descriptor, byte for byte as the publisher signed it. */
  readonly descriptorBytes: Uint8Array;
  readonly descriptor: VerifiedDescriptor;
  /** Settings of the last bundle: at hand before any content host was asked. `undefined` where a publisher's older program made it. */
  readonly settings: SiteSettings | undefined;
}

/** Site that is read at an origin of this key server, and whose it is. */
export interface SiteHere {
  readonly provider: Provider;
  readonly site: SiteDescription;
}

/** The provider's row, as the last import left it. */
export interface ProviderRow {
  /** Key id of the publisher key. */
  readonly publisher_key: KeyId;
  readonly root: KeyId;
  readonly workspace: string;
  readonly serial: number;
  readonly bundle_digest: string;
  readonly descriptor: Uint8Array;
  readonly settings: Uint8Array | null;
}

export async function readProviderRow(database: Database): Promise<ProviderRow | undefined> {
  const sql = 'SELECT publisher_key, root, workspace, serial, bundle_digest, descriptor, settings FROM provider';
  return database.first<ProviderRow>(sql);
}

/** Reads the provider, and verifies the descriptor's signature once for every import. */
export class ProviderReader {
  readonly #database: Database;
  #digest: string | undefined;
  #provider: Provider | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** `undefined` before the first import. Whether the descriptor has expired is for readers to check. */
  async read(): Promise<Provider | undefined> {
    const row = await readProviderRow(this.#database);
    if (row && row.bundle_digest !== this.#digest) {
      const descriptor = await verifyDescriptor(row.descriptor, 0);
      const settings = row.settings ? parseSettings(row.settings) : undefined;
      this.#provider = { publisher: row.root, descriptorBytes: row.descriptor, descriptor, settings };
      this.#digest = row.bundle_digest;
    }
    return this.#provider;
  }

  /** Finds the site that is read at `origin`, if the publisher names one. */
  async siteAt(origin: string): Promise<SiteHere | undefined> {
    const provider = await this.read();
    const site = provider && siteReadAt(provider.descriptor, origin);
    return provider && site && { provider, site };
  }

  /** @throws KeyServerError `no-provider` where no site is read at `origin` */
  async demandSite(origin: string): Promise<SiteHere> {
    const here = await this.siteAt(origin);
    if (!here) throw new KeyServerError('no-provider', 'no site is read at this origin');
    return here;
  }
}

/** The site that is read at `origin`, if the publisher names one. */
export function siteReadAt(descriptor: VerifiedDescriptor, origin: string): SiteDescription | undefined {
  return descriptor.sites.find(({ reading }) => reading === origin);
}
