/**
 * A publication for tests, signed with real keys: docs/spec/publication.md. It changes by its methods and becomes visible by `publish`; its
 * files lie in `files` by URL path, as a content host has them, so that a test can also put others there.
 */
import { ed25519KeyPair, randomBytes, sha256 } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { binBitsFor, binFor, binNames, DOCUMENTS_ROLE, pathHashOf } from '../../core/publication/bins.ts';
import { type TufObject, tufCanonicalText } from '../../core/publication/canonical.ts';
import { type DocumentEntry, encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import type { TopLevelRole } from '../../core/publication/metadata.ts';
import {
  contentTargetOf,
  DESCRIPTOR_TARGET,
  headTargetOf,
  METADATA_PATH,
  metadataFile,
  SETTINGS_TARGET,
  targetUrlPath,
} from '../../core/publication/names.ts';
import { encodeSettings, type SiteSettings } from '../../core/publication/settings.ts';
import {
  binMetadata,
  closingSnapshotMetadata,
  documentsMetadata,
  type FileFacts,
  factsOf,
  fileTarget,
  ROLE_VALIDITY,
  type RolePublicKeys,
  rootIdOf,
  rootMetadata,
  signMetadata,
  snapshotMetadata,
  targetsMetadata,
  timestampMetadata,
  timestampVersion,
} from '../../core/publication/writer.ts';

/** Signers of a role. */
export interface RoleKeyRing {
  readonly signers: readonly RoleSigner[];
  readonly threshold: number;
}

interface Section {
  readonly name: string;
  paths: readonly string[];
  keys: RoleKeyRing;
  readonly targets: Map<string, TufObject>;
}

/** Values of a timestamp instead of the usual. */
export interface TimestampWish {
  readonly version?: number;
  readonly expires?: number;
  readonly signers?: readonly RoleSigner[];
}

export const TEST_SETTINGS: SiteSettings = { cleanUrls: false, grace: 7 * 86_400, redirects: [] };

export async function keyRing(count = 1, threshold = 1): Promise<RoleKeyRing> {
  const signers = Array.from({ length: count }, () => roleSigner(ed25519KeyPair(randomBytes(32))));
  return { signers: await Promise.all(signers), threshold };
}

export class TestPublication {
  /** Files that a content host of it has, by URL path. */
  readonly files = new Map<string, Uint8Array>();
  /** Targets by path: heads, and contents of public documents. */
  readonly documents = new Map<string, TufObject>();
  readonly sections: Section[] = [];
  /** Whole files that the role `targets` names, by target path. */
  readonly wholeFiles = new Map<string, Uint8Array>();
  readonly roles: Record<TopLevelRole, RoleKeyRing>;
  /** The bytes of the first root; SHA-256 of it is {@link rootId}. */
  firstRoot: Uint8Array = new Uint8Array(0);
  rootId = '';
  rootVersion = 0;
  /** Version of the publication that was made last. */
  version = 0;
  timestampVersion = 0;
  /** Bits of the number of bins; never shrinks by itself. */
  bits = 1;
  readonly #facts = new Map<string, FileFacts>();
  /** Roles whose last file is good for the next publication, if it would say the same. */
  readonly #unchanged = new Set<string>();

  private constructor(roles: Record<TopLevelRole, RoleKeyRing>) {
    this.roles = roles;
  }

  /** Creates one with keys and a first root, and nothing published yet. */
  static async create(now: number, roles: Partial<Record<TopLevelRole, RoleKeyRing>> = {}): Promise<TestPublication> {
    const made = new TestPublication({
      root: roles.root ?? (await keyRing()),
      targets: roles.targets ?? (await keyRing()),
      snapshot: roles.snapshot ?? (await keyRing()),
      timestamp: roles.timestamp ?? (await keyRing()),
    });
    made.setSettings(TEST_SETTINGS);
    made.wholeFiles.set(DESCRIPTOR_TARGET, utf8('a descriptor'));
    made.firstRoot = await made.publishRoot(now);
    made.rootId = await rootIdOf(made.firstRoot);
    return made;
  }

  setSettings(settings: SiteSettings): void {
    this.wholeFiles.set(SETTINGS_TARGET, encodeSettings(settings));
  }

  /** An encrypted document. Its object may have its payload behind the head, which `headLength` then ends. */
  async addEncrypted(path: string, set: string, object: Uint8Array, headLength = object.length): Promise<void> {
    await this.#addHead(path, object.subarray(0, headLength), object, { set: set as never });
  }

  /** A public document: a head and the content. */
  async addPublic(path: string, head: Uint8Array, content: Uint8Array): Promise<void> {
    const contentHash = toHex(await sha256(content));
    await this.#addHead(path, head, head, { content: contentHash });
    this.targetsFor(contentTargetOf(path)).set(contentTargetOf(path), await fileTarget(content));
    this.files.set(targetUrlPath(contentTargetOf(path), contentHash), content);
  }

  /** Takes a document out of the next publication; its files stay on the host. */
  remove(path: string): void {
    for (const target of [headTargetOf(path), contentTargetOf(path)]) this.targetsFor(target).delete(target);
  }

  async addSection(name: string, paths: readonly string[], keys?: RoleKeyRing): Promise<Section> {
    const section = { name, paths, keys: keys ?? (await keyRing()), targets: new Map<string, TufObject>() };
    this.sections.push(section);
    return section;
  }

  /** Finds where a target goes: to the section whose `paths`, here only of the form `a/*`, hold it, or to the bins. */
  targetsFor(targetPath: string): Map<string, TufObject> {
    const folder = targetPath.slice(0, targetPath.lastIndexOf('/') + 1);
    return this.sections.find(({ paths }) => paths.includes(`${folder}*`))?.targets ?? this.documents;
  }

  /** URL path of the file of a document's target. */
  urlPathOf(targetPath: string): string {
    const entry = this.targetsFor(targetPath).get(targetPath) as { hashes: { sha256: string } } | undefined;
    if (entry === undefined) throw new Error(`the publication does not name ${targetPath}`);
    return targetUrlPath(targetPath, entry.hashes.sha256);
  }

  /** Signs the next root with the keys in {@link roles} and with those that were there before. */
  async publishRoot(now: number, signers = this.roles.root.signers): Promise<Uint8Array> {
    const about = { version: ++this.rootVersion, expires: now + ROLE_VALIDITY.root };
    const { root, timestamp, snapshot, targets } = this.roles;
    const of = publicKeysOf;
    const roles = { root: of(root), timestamp: of(timestamp), snapshot: of(snapshot), targets: of(targets) };
    const bytes = signMetadata(await rootMetadata(about, roles), signers);
    this.#put('root', about.version, bytes);
    return bytes;
  }

  /** Gives a role new keys, and signs a root that says so with both old and new root keys. Whatever the role signs is signed anew. */
  async rotate(role: TopLevelRole, now: number, keys?: RoleKeyRing): Promise<void> {
    const before = this.roles.root.signers;
    this.roles[role] = keys ?? (await keyRing());
    const signers = [...new Set([...before, ...this.roles.root.signers])];
    await this.publishRoot(now, signers);
    if (role === 'targets') this.signAllAnew();
  }

  /** The next publication signs everything anew, whether it changed or not. */
  signAllAnew(): void {
    this.#unchanged.clear();
  }

  /** A whole new publication: everything that changed, and the timestamp last. */
  async publish(now: number, wish: TimestampWish = {}): Promise<number> {
    this.version++;
    this.bits = binBitsFor(this.documents.size, this.bits);
    await this.#publishDocuments(now);
    for (const { name, keys, targets } of this.sections)
      await this.sign(name, keys, binMetadata(this.#about(now), targets));
    await this.sign('targets', this.roles.targets, await this.targets(now));
    await this.publishSnapshot(now, wish);
    return this.version;
  }

  /** Makes the files that stand there, under {@link version}, a publication. */
  async publishSnapshot(now: number, wish: TimestampWish = {}): Promise<void> {
    const about = { version: this.version, expires: now + ROLE_VALIDITY.snapshot };
    this.#put(
      'snapshot',
      this.version,
      signMetadata(snapshotMetadata(about, this.#facts), this.roles.snapshot.signers),
    );
    await this.publishTimestamp(now, wish);
  }

  /** Withdraws the last publication by a closing one. */
  async close(now: number, wish: TimestampWish = {}): Promise<void> {
    const about = { version: this.version + 1, expires: now + ROLE_VALIDITY.snapshot };
    const bytes = signMetadata(closingSnapshotMetadata(about, this.#facts), this.roles.snapshot.signers);
    await this.uploadSnapshot(about.version, bytes, now, wish);
  }

  /** Makes any bytes the snapshot of a version, and confirms it. */
  async uploadSnapshot(version: number, bytes: Uint8Array, now: number, wish: TimestampWish = {}): Promise<void> {
    this.version = version;
    this.#put('snapshot', version, bytes);
    await this.publishTimestamp(now, wish);
  }

  /** Confirms the last publication. */
  async publishTimestamp(now: number, wish: TimestampWish = {}): Promise<void> {
    this.timestampVersion = wish.version ?? timestampVersion(now, this.timestampVersion);
    const about = { version: this.timestampVersion, expires: wish.expires ?? now + ROLE_VALIDITY.timestamp };
    const snapshot = await factsOf(this.version, this.metadata('snapshot', this.version));
    const signed = timestampMetadata(about, snapshot);
    this.files.set(
      `${METADATA_PATH}timestamp.json`,
      signMetadata(signed, wish.signers ?? this.roles.timestamp.signers),
    );
  }

  /** The bytes of a metadata file. */
  metadata(role: string, version: number): Uint8Array {
    const bytes = this.files.get(METADATA_PATH + metadataFile(role, version));
    if (bytes === undefined) throw new Error(`no version ${version} of ${role}`);
    return bytes;
  }

  /** The version of a role in the last publication. */
  versionOf(role: string): number {
    return this.#facts.get(role)?.version ?? 0;
  }

  /** Signs a role anew if what it says, its time aside, or its keys changed. */
  async sign(role: string, keys: RoleKeyRing, signed: TufObject): Promise<void> {
    const before = this.#facts.get(role);
    if (before && this.#unchanged.has(role) && sameButTime(this.metadata(role, before.version), signed)) return;
    const bytes = signMetadata(signed, keys.signers);
    await this.force(role, this.version, bytes);
    this.#unchanged.add(role);
  }

  /** Puts bytes in the place of a role's metadata and names them in the next snapshot. */
  async force(role: string, version: number, bytes: Uint8Array): Promise<void> {
    this.#put(role, version, bytes);
    this.#facts.set(role, await factsOf(version, bytes));
  }

  /** Leaves a role out of the next snapshot. */
  forget(role: string): void {
    this.#facts.delete(role);
  }

  async #publishDocuments(now: number): Promise<void> {
    const keys = publicKeysOf(this.roles.targets);
    const delegation = { bits: this.bits, namePrefix: DOCUMENTS_ROLE, keyids: [], threshold: 1 };
    const bins = new Map(binNames(this.bits).map((name) => [name, [] as [string, TufObject][]]));
    for (const [path, entry] of this.documents)
      bins.get(binFor(await pathHashOf(path), delegation))?.push([path, entry]);
    for (const [name, targets] of bins)
      await this.sign(name, this.roles.targets, binMetadata(this.#about(now), targets));
    await this.sign(DOCUMENTS_ROLE, this.roles.targets, await documentsMetadata(this.#about(now), this.bits, keys));
  }

  /** The `signed` part of the role `targets` as it has to be now. */
  async targets(now: number): Promise<TufObject> {
    const whole: [string, TufObject][] = [];
    for (const [path, bytes] of this.wholeFiles) {
      whole.push([path, await fileTarget(bytes)]);
      this.files.set(targetUrlPath(path, toHex(await sha256(bytes))), bytes);
    }
    const sections = this.sections.map(({ name, paths, keys }) => ({ name, paths, ...publicKeysOf(keys) }));
    return targetsMetadata(this.#about(now), whole, publicKeysOf(this.roles.targets), sections);
  }

  async #addHead(path: string, bytes: Uint8Array, object: Uint8Array, wish: Partial<DocumentEntry>): Promise<void> {
    const head = toHex(await sha256(bytes));
    this.files.set(targetUrlPath(headTargetOf(path), head), object);
    const entry = { head, headLength: bytes.length, set: undefined, content: undefined, inPage: false, ...wish };
    this.targetsFor(headTargetOf(path)).set(headTargetOf(path), encodeDocumentTarget(entry));
  }

  #about(now: number): { version: number; expires: number } {
    return { version: this.version, expires: now + ROLE_VALIDITY.targets };
  }

  #put(role: string, version: number, bytes: Uint8Array): void {
    this.files.set(METADATA_PATH + metadataFile(role, version), bytes);
  }
}

function publicKeysOf({ signers, threshold }: RoleKeyRing): RolePublicKeys {
  return { publicKeys: signers.map(({ publicKey }) => publicKey), threshold };
}

function sameButTime(bytes: Uint8Array, signed: TufObject): boolean {
  const before = (JSON.parse(new TextDecoder().decode(bytes)) as { signed: TufObject }).signed;
  const bare = ({ version: _, expires: __, ...rest }: TufObject) => tufCanonicalText(rest);
  return bare(before) === bare(signed);
}
