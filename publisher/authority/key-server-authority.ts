/** The key server as the authority. The publisher signs with its own copy of the key only where the key server does not answer: R5. */
import { encodeHandOver } from '../../core/publication/hand-over.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { isGreater } from '../../core/publication/pair.ts';
import { verifyNextRoot } from '../../core/publication/verify-roles.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import { fileOfRole } from '../publication/roles.ts';
import { findSnapshot, type SignedSnapshot, underAny } from '../publication/signed.ts';
import { type CurrentTimestamp, checkOrder, type TimestampAuthority, verifiedTimestamp } from './authority.ts';
import { fetchTimestamp, isUnreachable, type KeyServerAccess, placeAtKeyServer, putPublication } from './key-server.ts';
import type { LocalAuthority } from './local-authority.ts';

export interface KeyServerAuthorityOptions {
  readonly keyServer: KeyServerAccess;
  /** The publisher's copy of the key, and what it has seen. */
  readonly local: LocalAuthority;
  /** A key of the role `snapshot`: it signs the hand-over. */
  readonly signer: RoleSigner;
  /** `1.root.json` and its successors, byte for byte, in their order. */
  readonly rootFiles: readonly Uint8Array[];
  /** The same, verified, the newest first. */
  readonly roots: readonly RootMetadata[];
  /** Seconds since 1970. */
  readonly now: () => number;
}

export class KeyServerAuthority implements TimestampAuthority {
  readonly #options: KeyServerAuthorityOptions;
  #failure: PublishError | undefined;

  constructor(options: KeyServerAuthorityOptions) {
    this.#options = options;
  }

  /** Error for which the key server was left out, if it did not answer. */
  get failure(): PublishError | undefined {
    return this.#failure;
  }

  /** Returns the greater of the key server's timestamp and the one seen here; the latter where the key server does not answer. */
  async current(): Promise<CurrentTimestamp | undefined> {
    const { local } = this.#options;
    const asked = await this.#ask();
    const own = await local.current();
    return asked && (own === undefined || isGreater(asked.timestamp, own.timestamp)) ? asked : own;
  }

  async confirm(snapshot: SignedSnapshot): Promise<Uint8Array> {
    const { keyServer, signer, rootFiles } = this.#options;
    const { bytes, expiries = [] } = snapshot;
    const message = encodeHandOver({ snapshot: bytes, roots: rootFiles.slice(1), expiries }, signer.secretKey);
    try {
      return await this.#confirmed(await putPublication(keyServer, message, snapshot.file.version), snapshot);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      this.#failure = error;
      return this.#confirmAlone(snapshot, error);
    }
  }

  learn(found: CurrentTimestamp): Promise<void> {
    return this.#options.local.learn(found);
  }

  /** R5. */
  async #confirmAlone(snapshot: SignedSnapshot, failure: PublishError): Promise<Uint8Array> {
    const { local, now } = this.#options;
    const seen = await local.current();
    if (seen) checkOrder(seen.timestamp.snapshot, snapshot.file, 'the key server');
    if (seen?.timestamp.snapshot.sha256 !== snapshot.file.sha256) return local.confirm(snapshot);
    if (now() < seen.timestamp.expires) return seen.bytes;
    throw failure;
  }

  /** Asks the key server. A claim alone does not count: it signs timestamps, but no snapshots. */
  async #ask(): Promise<CurrentTimestamp | undefined> {
    const { keyServer, roots } = this.#options;
    try {
      const bytes = await fetchTimestamp(keyServer);
      if (bytes === undefined) return undefined;
      const found = (await verifiedTimestamp(bytes, roots)) ?? (await this.#unknown());
      if (await findSnapshot(found.timestamp.snapshot, [placeAtKeyServer(keyServer)], roots)) return found;
      throw this.#wrongAnswer(
        `it does not have publication ${found.timestamp.snapshot.version}, which its timestamp names`,
      );
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      this.#failure = error;
      return undefined;
    }
  }

  /** Refuses a timestamp under keys that are not known here: of another site, or of a root that another copy of the workspace has made. */
  async #unknown(): Promise<never> {
    const { keyServer, roots } = this.#options;
    const [root] = roots;
    const path = root && fileOfRole('root', root.version + 1);
    const bytes = path && (await placeAtKeyServer(keyServer).read(path, PUBLICATION_LIMITS.rootLength));
    const isNext = root && bytes && (await underAny([root], (known) => verifyNextRoot(bytes, known, READER_OPTIONS)));
    if (!isNext) throw this.#wrongAnswer('its timestamp is not signed by a key of this site');
    throw new PublishError(
      'workspace-behind',
      `another copy of this workspace has changed signing keys: its publisher.keys knows root ${isNext.version}`,
    );
  }

  /** Checks that the answer is a timestamp for this very snapshot, under the newest root. */
  async #confirmed(bytes: Uint8Array, { file }: SignedSnapshot): Promise<Uint8Array> {
    const { local, roots } = this.#options;
    const confirmed = await this.#verified(bytes, roots.slice(0, 1));
    const { snapshot } = confirmed.timestamp;
    if (snapshot.sha256 !== file.sha256)
      throw this.#wrongAnswer(`it confirms publication ${snapshot.version} in place of ${file.version}`);
    await local.learn(confirmed);
    return bytes;
  }

  async #verified(bytes: Uint8Array, roots: readonly RootMetadata[]): Promise<CurrentTimestamp> {
    const found = await verifiedTimestamp(bytes, roots);
    if (found) return found;
    throw this.#wrongAnswer('its timestamp is not signed by a key of this site');
  }

  #wrongAnswer(reason: string): PublishError {
    const { origin } = this.#options.keyServer;
    return new PublishError('key-server-refused', `the key server ${origin} cannot be used: ${reason}`, {
      fields: { origin },
    });
  }
}
