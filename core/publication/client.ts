/**
 * The reading side: the client workflow of TUF specification section 5, with its step numbers. Bytes and the time come in, so that it runs
 * anywhere. What was trusted before stays in use, in memory and in the store, until something newer has passed every check.
 */
import { DelegatedRoles, type Step } from './delegated-roles.ts';
import { PublicationError } from './errors.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import {
  hasLostOnlineKeys,
  type MetaFile,
  type RoleMetadata,
  type RootMetadata,
  type SnapshotMetadata,
  sameFile,
  type TargetInfo,
  type TargetsMetadata,
  type TimestampMetadata,
} from './metadata.ts';
import { metadataFile } from './names.ts';
import { fetchBounded, fetchNamed, type MetadataSource, type MetadataStore, missing } from './sources.ts';
import {
  forgetNewest,
  forgetState,
  loadStored,
  readStored,
  storeState,
  type TrustedState,
  targetsFile,
  type VerifiedRole,
  verifyTopTargets,
} from './trusted-state.ts';
import {
  checkExpiry,
  checkNotFuture,
  checkTimestampExpiry,
  type RoleChecks,
  verifyFirstRoot,
  verifyNextRoot,
  verifySnapshot,
  verifyTimestamp,
} from './verify-roles.ts';

export type { MetadataSource, MetadataStore } from './sources.ts';
export type { TrustedState } from './trusted-state.ts';

export interface ClientOptions extends RoleChecks {
  readonly source: MetadataSource;
  /** A store for each first root. */
  readonly store: MetadataStore;
  /** The root to begin with; its origin is the caller's matter. Asked for only where the store has no good one. */
  readonly firstRoot: () => Promise<Uint8Array>;
  /** Seconds after its expiry for which a timestamp is still taken. 0: TUF's own rule. */
  readonly grace: number;
  /** Called with a state that has passed every check and is about to be used; what it throws keeps the old one in use. */
  readonly beforeUse?: (state: TrustedState) => Promise<void>;
}

export class PublicationClient {
  readonly #options: ClientOptions;
  readonly #delegated: DelegatedRoles;
  #root: RootMetadata | undefined;
  /** The newest that were verified, for what may not go back. */
  #timestamp: VerifiedRole<TimestampMetadata> | undefined;
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

  /** Version of the closing publication, where the newest one is that; then there is no {@link state}. */
  get closedVersion(): number | undefined {
    return this.#snapshot?.closed ? this.#snapshot.version : undefined;
  }

  /** Tells whether something newer than {@link state} is known, but did not arrive whole. */
  get isBehind(): boolean {
    const newest = Math.max(this.#timestamp?.role.snapshot.version ?? 0, this.#snapshot?.version ?? 0);
    return newest > (this.#state?.snapshot.version ?? 0);
  }

  /** Reads what the store has. Whatever does not verify any more is as if it were not there. Called by itself where needed. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  /**
   * Looks for something newer (5.3 to 5.6). If it fails, the state stays what it was.
   *
   * @param now - seconds since 1970
   * @throws PublicationError, and whatever source and store throw
   */
  refresh(now: number): Promise<void> {
    this.#refreshing ??= this.#refresh(now).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * Finds what the publication says about a target (5.6.7) now.
   *
   * @throws PublicationError also where the state is not good any more
   */
  async target(path: string, now: number): Promise<TargetInfo | undefined> {
    return this.#delegated.find(path, this.check(now), now);
  }

  /** Reads a delegated role as of a state. @throws PublicationError */
  role(step: Step, state: TrustedState): Promise<TargetsMetadata> {
    return this.#delegated.role(step, state);
  }

  /**
   * The state, if it may be used at this time: steps P6 to P9.
   *
   * @throws PublicationError `metadata-missing`, `metadata-expired`, `publication-expired`, `clock-off`, `publication-withdrawn`
   */
  check(now: number): TrustedState {
    this.checkOpen();
    const state = this.#state;
    if (state === undefined)
      throw new PublicationError('metadata-missing', 'no publication of this site has been verified yet');
    checkExpiry('root', state.root, now);
    checkNotFuture(state.timestamp, now, this.#options);
    checkTimestampExpiry(state.timestamp, now, this.#options.grace);
    checkExpiry('snapshot', state.snapshot, now);
    checkExpiry('targets', state.targets, now);
    return state;
  }

  /** P9. @throws PublicationError `publication-withdrawn` */
  checkOpen(): void {
    const version = this.closedVersion;
    if (version === undefined) return;
    throw new PublicationError(
      'publication-withdrawn',
      `publication ${version} withdraws the one before it, and there is no newer one yet`,
    );
  }

  async #load(): Promise<void> {
    const { store, firstRoot } = this.#options;
    const kept = await readStored(store, 'root', (bytes) => verifyFirstRoot(bytes, this.#options));
    if (kept) return this.#loadBelow(kept.role);
    const bytes = await firstRoot();
    const root = await verifyFirstRoot(bytes, this.#options);
    await store.write('root', bytes);
    await this.#loadBelow(root);
  }

  async #loadBelow(root: RootMetadata): Promise<void> {
    const { timestamp, snapshot, state } = await loadStored(root, this.#options);
    this.#root = root;
    this.#timestamp = timestamp;
    this.#snapshot = snapshot;
    this.#state = state;
  }

  async #refresh(now: number): Promise<void> {
    await this.load();
    const root = await this.#updateRoot(now);
    const timestamp = await this.#updateTimestamp(root, now);
    const snapshot = await this.#updateSnapshot(root, timestamp.role.snapshot, now);
    if (snapshot.role.closed) return this.#close(); // nothing below a closing snapshot is read
    const targets = await this.#updateTargets(root, snapshot.role, now);
    const state = { root, timestamp: timestamp.role, snapshot: snapshot.role, targets: targets.role };
    await this.#options.beforeUse?.(state);
    if (timestamp.role !== this.#state?.timestamp)
      await storeState(this.#options.store, { timestamp, snapshot: snapshot.bytes, targets: targets.bytes });
    this.#state = state;
  }

  /** A closing publication ends the state, in the store as well: there is none again before a higher one has arrived whole. */
  async #close(): Promise<void> {
    this.#state = undefined;
    await forgetState(this.#options.store);
  }

  /** 5.3 */
  async #updateRoot(now: number): Promise<RootMetadata> {
    const { source, store } = this.#options;
    const before = this.#root as RootMetadata;
    let root = before;
    try {
      for (let turn = 0; turn < PUBLICATION_LIMITS.rootRotations; turn++) {
        const file = metadataFile('root', root.version + 1);
        const isGood = (bytes: Uint8Array) => this.#isNextRoot(bytes, root);
        const bytes = await fetchBounded(source, file, PUBLICATION_LIMITS.rootLength, undefined, isGood); // 5.3.3
        if (bytes === undefined) break;
        const next = await verifyNextRoot(bytes, root, this.#options); // 5.3.4, 5.3.5
        await store.write('root', bytes); // 5.3.8
        root = next;
      }
    } finally {
      if (root !== before) await this.#afterRotation(before, root); // a later root may have been refused
    }
    checkExpiry('root', root, now); // 5.3.10
    return root;
  }

  /** Checks a root, so that a host with other bytes under its name hides no good root at another, and delays no look at the timestamp. */
  async #isNextRoot(bytes: Uint8Array, root: RootMetadata): Promise<boolean> {
    try {
      await verifyNextRoot(bytes, root, this.#options);
      return bytes.length <= PUBLICATION_LIMITS.rootLength;
    } catch {
      return false;
    }
  }

  /** 5.3.11. Beyond it, whatever the new keys do not sign is gone. */
  async #afterRotation(before: RootMetadata, root: RootMetadata): Promise<void> {
    if (hasLostOnlineKeys(before, root)) await forgetNewest(this.#options.store);
    await this.#loadBelow(root);
  }

  /** 5.4. Places that have nothing good are passed over for the next; of several that answer, the newest counts. */
  async #updateTimestamp(root: RootMetadata, now: number): Promise<VerifiedRole<TimestampMetadata>> {
    let failure: unknown;
    let found = false;
    const isEnough = () => {
      const timestamp = this.#timestamp?.role;
      return found && timestamp !== undefined && now < timestamp.expires;
    };
    for await (const answer of this.#options.source.timestamps(PUBLICATION_LIMITS.timestampLength, isEnough)) {
      try {
        if ('error' in answer) throw answer.error;
        if (answer.result === undefined) continue;
        await this.#acceptTimestamp(answer.result, root, now);
        found = true;
      } catch (error) {
        failure ??= error;
      }
    }
    if (!found || this.#timestamp === undefined) throw failure ?? missing('timestamp.json');
    checkTimestampExpiry(this.#timestamp.role, now, this.#options.grace); // the one from before, where nothing is newer
    return this.#timestamp;
  }

  async #acceptTimestamp(bytes: Uint8Array, root: RootMetadata, now: number): Promise<void> {
    const timestamp = await verifyTimestamp(bytes, root, this.#timestamp?.role, this.#options, this.#snapshot); // 5.4.2, 5.4.3
    if (timestamp === undefined) return;
    checkNotFuture(timestamp, now, this.#options); // P8, before it could make current ones older
    checkTimestampExpiry(timestamp, now, this.#options.grace); // 5.4.4, P7
    await this.#options.store.write('timestamp', bytes); // 5.4.5
    this.#timestamp = { role: timestamp, bytes };
  }

  /** 5.5. The bytes are left out where the state has this very snapshot. */
  async #updateSnapshot(root: RootMetadata, expected: MetaFile, now: number): Promise<MaybeNew<SnapshotMetadata>> {
    const inUse = this.#state;
    if (inUse && sameFile(inUse.timestamp.snapshot, expected)) return unchanged('snapshot', inUse.snapshot, now);
    const verify = (bytes: Uint8Array) => verifySnapshot(bytes, root, expected, this.#options, this.#snapshot); // 5.5.2 to 5.5.5
    const snapshot = await this.#fetchRole(root, 'snapshot', expected, verify, now); // 5.5.1, 5.5.6, 5.5.7
    this.#snapshot = snapshot.role;
    return snapshot;
  }

  /** 5.6.1 to 5.6.6. The bytes are left out where the state has this very file. */
  async #updateTargets(
    root: RootMetadata,
    snapshot: SnapshotMetadata,
    now: number,
  ): Promise<MaybeNew<TargetsMetadata>> {
    const expected = targetsFile(snapshot);
    const inUse = this.#state;
    if (inUse && sameFile(targetsFile(inUse.snapshot), expected)) return unchanged('targets', inUse.targets, now);
    const verify = (bytes: Uint8Array) => verifyTopTargets(bytes, root, snapshot, this.#options); // 5.6.2 to 5.6.4
    return this.#fetchRole(root, 'targets', expected, verify, now); // 5.6.1, 5.6.5, 5.6.6
  }

  /** A role's file: the store's copy, if it is the one that is wanted, or the source's, which is kept once it is verified. */
  async #fetchRole<Role extends RoleMetadata>(
    root: RootMetadata,
    name: 'snapshot' | 'targets',
    expected: MetaFile,
    verify: (bytes: Uint8Array) => Promise<Role>,
    now: number,
  ): Promise<VerifiedRole<Role>> {
    const { source, store } = this.#options;
    const own = await readStored(store, name, verify);
    const { snapshotLength, targetsLength } = PUBLICATION_LIMITS;
    const longest = name === 'snapshot' ? snapshotLength : targetsLength;
    const bytes = own?.bytes ?? (await fetchNamed(source, root, name, expected, longest));
    const role = own?.role ?? (await verify(bytes));
    checkExpiry(name, role, now);
    if (own === undefined) await store.write(name, bytes);
    return { role, bytes };
  }
}

/** A role's metadata, with their bytes if they are not those that are in use. */
interface MaybeNew<Role> {
  readonly role: Role;
  readonly bytes: Uint8Array | undefined;
}

function unchanged<Role extends RoleMetadata>(name: string, role: Role, now: number): MaybeNew<Role> {
  checkExpiry(name, role, now);
  return { role, bytes: undefined };
}
