/**
 * The reading side: the client workflow of TUF specification section 5, with its step numbers. Bytes and the time come in, so that it runs
 * anywhere. What was trusted before stays in use, in memory and in the store, until something newer has passed every check.
 */
import { DelegatedRoles } from './delegated-roles.ts';
import { PublicationError } from './errors.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import type {
  MetaFile,
  RootMetadata,
  SnapshotMetadata,
  TargetInfo,
  TargetsMetadata,
  TimestampMetadata,
} from './metadata.ts';
import { metadataFile } from './names.ts';
import {
  checkExpiry,
  isoTime,
  tooLarge,
  type VerifyOptions,
  verifyFirstRoot,
  verifyNextRoot,
  verifyOwnSnapshot,
  verifySnapshot,
  verifyTargets,
  verifyTimestamp,
} from './verify-roles.ts';

/** Where metadata come from. Nothing is believed of what it gives; it has to bound time. */
export interface MetadataSource {
  /**
   * A metadata file.
   *
   * @param file - such as `7.snapshot.json`
   * @param maximumLength - more need not be fetched
   * @returns `undefined` if there is none
   */
  metadata(file: string, maximumLength: number): Promise<Uint8Array | undefined>;
  /** The places where a timestamp may be had, to be asked in this order until one has a fresh one. */
  timestamps(maximumLength: number): readonly (() => Promise<Uint8Array | undefined>)[];
}

/** Where a client keeps what it trusts, by the names of roles and a few of its own that begin with `wispr:`. */
export interface MetadataStore {
  read(name: string): Promise<Uint8Array | undefined>;
  write(name: string, bytes: Uint8Array): Promise<void>;
}

export interface ClientOptions extends VerifyOptions {
  readonly source: MetadataSource;
  readonly store: MetadataStore;
  /** The root to begin with; its origin is the caller's matter. Asked for only where the store has no good one. */
  readonly firstRoot: () => Promise<Uint8Array>;
  /** Seconds after its expiry for which a timestamp is still taken. 0: TUF's own rule. */
  readonly grace: number;
}

/** One complete state of a site. */
export interface TrustedState {
  readonly root: RootMetadata;
  readonly timestamp: TimestampMetadata;
  readonly snapshot: SnapshotMetadata;
  readonly targets: TargetsMetadata;
}

/** What the last complete state is kept under. */
const IN_USE = { timestamp: 'wispr:timestamp', snapshot: 'wispr:snapshot', targets: 'wispr:targets' } as const;

export class PublicationClient {
  readonly #options: ClientOptions;
  readonly #delegated: DelegatedRoles;
  #root: RootMetadata | undefined;
  /** The newest that were verified, for what may not go back. */
  #timestamp: TimestampMetadata | undefined;
  #snapshot: SnapshotMetadata | undefined;
  #state: TrustedState | undefined;
  #refreshing: Promise<void> | undefined;
  #loading: Promise<void> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#delegated = new DelegatedRoles(options);
  }

  /** The last complete state, whether or not it is still good; see {@link check}. */
  get state(): TrustedState | undefined {
    return this.#state;
  }

  /** The newest timestamp that was verified; it may be newer than that of {@link state}. */
  get newestTimestamp(): TimestampMetadata | undefined {
    return this.#timestamp;
  }

  /** Reads what the store has. Whatever does not verify any more is as if it were not there. Called by itself where needed. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /**
   * Looks for something newer (5.3 to 5.6). If it fails, the state stays what it was.
   *
   * @param now - seconds since 1970
   * @throws PublicationError, and whatever the source throws
   */
  refresh(now: number): Promise<void> {
    this.#refreshing ??= this.#refresh(now).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * What the publication says about a target (5.6.7), as it is now.
   *
   * @throws PublicationError also where the state is not good any more
   */
  async target(path: string, now: number): Promise<TargetInfo | undefined> {
    return this.#delegated.find(path, this.check(now), now);
  }

  /**
   * The state, if it may be used at this time: steps P6 to P8.
   *
   * @throws PublicationError `metadata-missing`, `metadata-expired`, `publication-expired`, `clock-behind`
   */
  check(now: number): TrustedState {
    const state = this.#state;
    if (state === undefined)
      throw new PublicationError('metadata-missing', 'no publication of this site has been verified yet');
    checkExpiry('root', state.root, now);
    this.#checkTimestamp(state.timestamp, now);
    checkExpiry('snapshot', state.snapshot, now);
    checkExpiry('targets', state.targets, now);
    return state;
  }

  async #load(): Promise<void> {
    const { store, firstRoot } = this.#options;
    this.#root =
      (await this.#kept('root', (bytes) => verifyFirstRoot(bytes, this.#options))) ??
      verifyFirstRoot(await firstRoot(), this.#options);
    await this.#loadBelow(this.#root);
    if ((await store.read('root')) === undefined) await store.write('root', await firstRoot());
  }

  async #loadBelow(root: RootMetadata): Promise<void> {
    const options = this.#options;
    this.#timestamp = await this.#kept('timestamp', (bytes) => verifyTimestamp(bytes, root, undefined, options));
    this.#snapshot = await this.#kept('snapshot', (bytes) => verifyOwnSnapshot(bytes, root, options));
    const timestamp = await this.#kept(IN_USE.timestamp, (bytes) => verifyTimestamp(bytes, root, undefined, options));
    const snapshot =
      timestamp &&
      (await this.#kept(IN_USE.snapshot, (bytes) =>
        verifySnapshot(bytes, root, timestamp.snapshot, undefined, options),
      ));
    const targets =
      snapshot && (await this.#kept(IN_USE.targets, (bytes) => this.#verifyTopTargets(bytes, root, snapshot)));
    this.#state = timestamp && snapshot && targets && { root, timestamp, snapshot, targets };
  }

  /** What the store has under a name, if it verifies. */
  async #kept<Kept>(name: string, verify: (bytes: Uint8Array) => Kept | Promise<Kept>): Promise<Kept | undefined> {
    const bytes = await this.#options.store.read(name);
    if (bytes === undefined) return undefined;
    try {
      return await verify(bytes);
    } catch (error) {
      if (error instanceof PublicationError) return undefined;
      throw error;
    }
  }

  async #refresh(now: number): Promise<void> {
    await this.load();
    const root = await this.#updateRoot(now);
    await this.#updateTimestamp(root, now);
    const timestamp = this.#timestamp;
    if (timestamp === undefined) throw missing('timestamp.json');
    this.#checkTimestamp(timestamp, now);
    const [snapshot, snapshotBytes] = await this.#updateSnapshot(root, timestamp.snapshot, now);
    const [targets, targetsBytes] = await this.#updateTargets(root, snapshot, now);
    await this.#use({ root, timestamp, snapshot, targets }, snapshotBytes, targetsBytes);
  }

  /** 5.3 */
  async #updateRoot(now: number): Promise<RootMetadata> {
    const { source, store } = this.#options;
    let root = this.#root as RootMetadata;
    for (let turn = 0; turn < PUBLICATION_LIMITS.rootRotations; turn++) {
      const bytes = await this.#fetch(source, metadataFile('root', root.version + 1), PUBLICATION_LIMITS.rootLength); // 5.3.3
      if (bytes === undefined) break;
      root = verifyNextRoot(bytes, root, this.#options); // 5.3.4, 5.3.5
      this.#root = root;
      await store.write('root', bytes); // 5.3.8
      await this.#loadBelow(root); // 5.3.11: what the new keys do not sign is gone
      this.#delegated.forget();
    }
    checkExpiry('root', root, now); // 5.3.10
    return root;
  }

  /** 5.4. Places that have nothing good are passed over for the next. */
  async #updateTimestamp(root: RootMetadata, now: number): Promise<void> {
    let failure: unknown;
    let found = false;
    for (const ask of this.#options.source.timestamps(PUBLICATION_LIMITS.timestampLength)) {
      try {
        const bytes = await ask(); // 5.4.1
        if (bytes === undefined) continue;
        await this.#takeTimestamp(bytes, root);
        found = true;
        if (this.#timestamp && now <= this.#timestamp.expires) return;
      } catch (error) {
        failure ??= error;
      }
    }
    if (!found) throw failure ?? missing('timestamp.json');
  }

  async #takeTimestamp(bytes: Uint8Array, root: RootMetadata): Promise<void> {
    const timestamp = verifyTimestamp(bytes, root, this.#timestamp, this.#options); // 5.4.2, 5.4.3
    if (timestamp === undefined) return;
    if (this.#snapshot && timestamp.snapshot.version < this.#snapshot.version && this.#timestamp === undefined)
      throw new PublicationError(
        'metadata-rollback',
        `the timestamp names publication ${timestamp.snapshot.version}, and ${this.#snapshot.version} was seen before`,
      );
    this.#timestamp = timestamp;
    await this.#options.store.write('timestamp', bytes); // 5.4.5
  }

  /** P7, P8; with a grace of 0, step 5.4.4. */
  #checkTimestamp({ version, expires }: TimestampMetadata, now: number): void {
    if (version > now + PUBLICATION_LIMITS.clockTolerance)
      throw new PublicationError(
        'clock-behind',
        `this machine's clock says ${isoTime(now)}, and the publication was confirmed on ${isoTime(version)}`,
        { hint: 'set the clock of this machine' },
      );
    if (now <= expires + this.#options.grace) return;
    throw new PublicationError(
      'publication-expired',
      `the publication was to be confirmed again by ${isoTime(expires)}; this machine's clock says ${isoTime(now)}`,
    );
  }

  /** 5.5. The bytes are left out where the state has this very snapshot. */
  async #updateSnapshot(
    root: RootMetadata,
    expected: MetaFile,
    now: number,
  ): Promise<[SnapshotMetadata, Uint8Array | undefined]> {
    const inUse = this.#state;
    if (inUse && sameFile(inUse.timestamp.snapshot, expected)) {
      checkExpiry('snapshot', inUse.snapshot, now);
      return [inUse.snapshot, undefined];
    }
    const bytes =
      (await this.#ownCopy('snapshot', expected, (kept) =>
        verifySnapshot(kept, root, expected, undefined, this.#options),
      )) ?? (await this.#fetchBelow(root, 'snapshot', expected, PUBLICATION_LIMITS.snapshotLength)); // 5.5.1
    const snapshot = await verifySnapshot(bytes, root, expected, this.#snapshot, this.#options); // 5.5.2 to 5.5.5
    checkExpiry('snapshot', snapshot, now); // 5.5.6
    this.#snapshot = snapshot;
    await this.#options.store.write('snapshot', bytes); // 5.5.7
    return [snapshot, bytes];
  }

  /** 5.6.1 to 5.6.6 */
  async #updateTargets(
    root: RootMetadata,
    snapshot: SnapshotMetadata,
    now: number,
  ): Promise<[TargetsMetadata, Uint8Array | undefined]> {
    const expected = snapshot.roles.get('targets');
    if (expected === undefined) throw missing('targets');
    const inUse = this.#state;
    const known = inUse?.snapshot.roles.get('targets');
    if (inUse && known && sameFile(known, expected)) {
      checkExpiry('targets', inUse.targets, now);
      return [inUse.targets, undefined];
    }
    const bytes =
      (await this.#ownCopy('targets', expected, (kept) => this.#verifyTopTargets(kept, root, snapshot))) ??
      (await this.#fetchBelow(root, 'targets', expected, PUBLICATION_LIMITS.targetsLength)); // 5.6.1
    const targets = await this.#verifyTopTargets(bytes, root, snapshot); // 5.6.2 to 5.6.4
    checkExpiry('targets', targets, now); // 5.6.5
    await this.#options.store.write('targets', bytes); // 5.6.6
    return [targets, bytes];
  }

  /** From now on this state counts; also after a new start. */
  async #use(state: TrustedState, snapshot: Uint8Array | undefined, targets: Uint8Array | undefined): Promise<void> {
    const { store } = this.#options;
    if (snapshot) await store.write(IN_USE.snapshot, snapshot);
    if (targets) await store.write(IN_USE.targets, targets);
    const timestamp = await store.read('timestamp');
    if (timestamp && state.timestamp !== this.#state?.timestamp) await store.write(IN_USE.timestamp, timestamp);
    this.#state = state;
  }

  #verifyTopTargets(bytes: Uint8Array, root: RootMetadata, snapshot: SnapshotMetadata): Promise<TargetsMetadata> {
    const expected = snapshot.roles.get('targets');
    if (expected === undefined) throw missing('targets');
    return verifyTargets(bytes, 'targets', { roleKeys: root.roles.targets, keys: root.keys }, expected, this.#options);
  }

  /** The store's copy, if it is the file that is wanted. */
  async #ownCopy(
    name: string,
    expected: MetaFile,
    verify: (bytes: Uint8Array) => Promise<{ version: number }>,
  ): Promise<Uint8Array | undefined> {
    const kept = await this.#kept(name, async (bytes) => ({ bytes, role: await verify(bytes) }));
    return kept?.role.version === expected.version ? kept.bytes : undefined;
  }

  async #fetchBelow(
    root: RootMetadata,
    role: string,
    { version, length }: MetaFile,
    maximum: number,
  ): Promise<Uint8Array> {
    const file = root.consistentSnapshot ? metadataFile(role, version) : `${role}.json`;
    const bytes = await this.#fetch(this.#options.source, file, length ?? maximum);
    if (bytes === undefined) throw missing(file);
    return bytes;
  }

  async #fetch(source: MetadataSource, file: string, maximum: number): Promise<Uint8Array | undefined> {
    const bytes = await source.metadata(file, maximum);
    if (bytes && bytes.length > maximum) throw tooLarge(file, maximum);
    return bytes;
  }
}

function sameFile(a: MetaFile, b: MetaFile): boolean {
  return a.version === b.version && a.sha256 === b.sha256 && a.length === b.length;
}

function missing(file: string): PublicationError {
  return new PublicationError('metadata-missing', `the content hosts have no ${file}`);
}
