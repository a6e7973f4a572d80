/** A key server with a publisher who hands over publications, a token, and push targets: one directory, where a test says nothing else. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { encodeHandOver, PUBLICATION_PATH } from '../../core/publication/hand-over.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { verifyFirstRoot, verifyOwnTimestamp } from '../../core/publication/verify-roles.ts';
import {
  closingSnapshotMetadata,
  factsOf,
  ROLE_VALIDITY,
  signMetadata,
  snapshotMetadata,
  timestampMetadata,
} from '../../core/publication/writer.ts';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { STRICT } from '../../keyserver/publication/stored.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { type Rig, startRig, temporaryFolder } from './keyserver-rig.ts';
import { type PublisherWithSets, sealBundle } from './publisher-with-sets.ts';

export const TIMESTAMP_PATH = `${METADATA_PATH}timestamp.json`;
export const HOUR = 3600;

export interface SnapshotWish {
  readonly closed?: boolean;
  readonly signer?: RoleSigner;
  readonly expires?: number;
  /** Makes another snapshot of the same version. */
  readonly targetsVersion?: number;
}

/** `N.snapshot.json` of a publication of which nothing else is there. */
export function encodeSnapshot(
  { root }: PublisherWithSets,
  version: number,
  now: number,
  { closed = false, signer = root.signers.snapshot, expires, targetsVersion = 1 }: SnapshotWish = {},
): Uint8Array {
  const about = { version, expires: expires ?? now + ROLE_VALIDITY.snapshot };
  const files = new Map([['targets', { version: targetsVersion, length: 1000, sha256: '0'.repeat(64) }]]);
  const signed = closed ? closingSnapshotMetadata(about, files) : snapshotMetadata(about, files);
  return signMetadata(signed, [signer]);
}

export const newKey = () => roleSigner(ed25519KeyPair(randomBytes(32)));

export class PublicationRig {
  readonly rig: Rig;
  /** The publisher's. */
  readonly token: string;
  /** Folder that the web host serves. */
  readonly site: string;
  readonly #folders: string[];

  private constructor(rig: Rig, site: string, token: string) {
    this.rig = rig;
    this.site = site;
    this.#folders = [site];
    this.token = token;
  }

  static async start(config: Partial<KeyServerConfig> = {}): Promise<PublicationRig> {
    const site = temporaryFolder();
    const publication = { resignMinutes: 60, freshHours: 48, push: [site] };
    const rig = await startRig({ config: { publication, ...config } });
    await rig.server.keeper.idle(); // the run at its start
    const { token } = await createToken(rig.server.state, 'publisher', 30);
    return new PublicationRig(rig, site, token);
  }

  async close(): Promise<void> {
    await this.rig.close();
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }

  get signer(): RoleSigner {
    return this.rig.publisher.root.signers.timestamp;
  }

  /** Reads the key server's clock. */
  now(): number {
    return this.rig.server.state.now();
  }

  put(path: string, body: Uint8Array, authorization: string | null = `Bearer ${this.token}`): Promise<Response> {
    const headers = authorization === null ? {} : { authorization };
    return fetch(this.rig.server.url + path, { method: 'PUT', body: Buffer.from(body), headers });
  }

  snapshot(version: number, wish: SnapshotWish = {}): Uint8Array {
    return encodeSnapshot(this.rig.publisher, version, this.now(), wish);
  }

  /** A timestamp that the publisher signs by itself (R5), or another holder of the key. */
  async timestamp(
    version: number,
    snapshot: Uint8Array,
    signed = this.now(),
    signer = this.signer,
    expires = signed + 48 * HOUR,
  ): Promise<Uint8Array> {
    return signMetadata(timestampMetadata({ version: signed, expires }, await factsOf(version, snapshot)), [signer]);
  }

  /** Uploads a publication to a directory, except for its timestamp. */
  upload(directory: string, version: number, snapshot: Uint8Array, roots: readonly Uint8Array[] = []): void {
    for (const [index, root] of [this.rig.publisher.root.bytes, ...roots].entries())
      putFile(directory, `${index + 1}.root.json`, root);
    putFile(directory, `${version}.snapshot.json`, snapshot);
  }

  /** Hands over, signed by the snapshot key unless a test says otherwise. */
  async handOver(
    snapshot: Uint8Array,
    { roots = [], signer = this.rig.publisher.root.signers.snapshot }: HandOverWish = {},
  ): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
    const expiries = [
      { role: 'snapshot', expires: this.now() + 1000 },
      { role: 'targets', expires: this.now() + 2000 },
    ];
    const message = encodeHandOver({ snapshot, roots, expiries }, signer.secretKey);
    const response = await this.put(PUBLICATION_PATH, message);
    await this.rig.server.keeper.idle();
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Uploads to all push targets that are directories, and hands over. @returns the timestamp of the answer */
  async publish(version: number, wish: SnapshotWish & HandOverWish = {}): Promise<Uint8Array> {
    const snapshot = this.snapshot(version, wish);
    for (const target of this.rig.config.publication?.push ?? [])
      if (existsSync(target)) this.upload(target, version, snapshot, wish.roots);
    const { status, body } = await this.handOver(snapshot, { roots: wish.roots ?? [], ...wish });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return new Uint8Array(Buffer.from(String(body.timestamp), 'base64url'));
  }

  /** Runs the keeper once, pushes included. @returns whether it signed or had nothing to sign */
  async run(): Promise<boolean> {
    const isGood = await this.rig.server.keeper.attempt();
    await this.rig.server.keeper.idle();
    return isGood;
  }

  /** Reads a timestamp as a reader who holds the first root. */
  async read(bytes: Uint8Array): Promise<TimestampMetadata> {
    return verifyOwnTimestamp(bytes, await verifyFirstRoot(this.rig.publisher.root.bytes, STRICT), STRICT);
  }

  /** A metadata file that the key server answers with. */
  async served(file = 'timestamp.json'): Promise<Uint8Array> {
    return new Uint8Array(await (await fetch(this.rig.server.url + METADATA_PATH + file)).arrayBuffer());
  }

  pushed(): Uint8Array {
    return timestampAt(this.site);
  }

  /** Imports a bundle with another timestamp key, or with none. @param serial - above those of all before */
  async importTimestampKey(timestampSeed: Uint8Array | undefined, serial = 2): Promise<void> {
    const { state, origins } = this.rig.server;
    const { publisher, host } = this.rig;
    const withKey = { ...publisher, root: { ...publisher.root, timestampSeed: timestampSeed ?? randomBytes(32) } };
    const about = { ...origins, content: host.origin, serial, withoutTimestampKey: timestampSeed === undefined };
    await importBundle(state, await sealBundle(withKey, state.recipient.publicKey, about), origins);
  }
}

interface HandOverWish {
  readonly roots?: readonly Uint8Array[];
  readonly signer?: RoleSigner;
}

export function putFile(directory: string, name: string, bytes: Uint8Array): void {
  const file = join(directory, METADATA_PATH, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
}

export function timestampAt(directory: string): Uint8Array {
  return new Uint8Array(readFileSync(join(directory, TIMESTAMP_PATH)));
}
