/** A key server with a publisher who publishes, a token, and web hosts to which timestamps are pushed: one directory, where a test says nothing else. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { randomBytes } from '#primitives';
import { encodeHandOver, PUBLICATION_PATH } from '../../core/publication/hand-over-1.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { verifyFirstRoot, verifyTimestamp } from '../../core/publication/verify-roles.ts';
import type { KeyServerConfig } from '../../keyserver/config.ts';
import { importBundle } from '../../keyserver/import-bundle.ts';
import { STRICT } from '../../keyserver/timestamp/state.ts';
import { createToken } from '../../keyserver/tokens.ts';
import { bringSnapshot } from './bring-snapshot.ts';
import { encodeTimestamp, type TimestampWish } from './first-root.ts';
import { type Rig, startRig, temporaryFolder } from './keyserver-rig.ts';
import { sealBundle } from './publisher-with-sets.ts';
import { saidBy } from './target-timestamp.ts';

export const TIMESTAMP_PATH = '/.well-known/wispr/timestamp.json';
export const HOUR = 3600;

export interface HandedOver {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export class PublicationRig {
  readonly rig: Rig;
  /** The publisher's. */
  readonly token: string;
  /** What the web host serves. */
  readonly site: string;
  /** Where the publisher publishes: all targets of the key server. A test may add its own, or publish elsewhere. */
  hosts: readonly string[];
  readonly #folders: string[];

  private constructor(rig: Rig, site: string) {
    this.rig = rig;
    this.site = site;
    this.#folders = [site];
    this.hosts = rig.config.publication?.push ?? [];
    this.token = createToken(rig.server.state, 'publisher', 30).token;
  }

  static async start(config: Partial<KeyServerConfig> = {}): Promise<PublicationRig> {
    const site = temporaryFolder();
    const publication = { resignMinutes: 60, freshHours: 48, push: [site] };
    const rig = await startRig({ config: { publication, ...config } });
    await rig.server.keeper.idle(); // the run at its start
    return new PublicationRig(rig, site);
  }

  /** Publication 7 was handed over an hour ago, and lies at two hosts. */
  static async startWithTwoHosts(freshHours = 48): Promise<{ the: PublicationRig; A: string; B: string }> {
    const [A, B] = [temporaryFolder(), temporaryFolder()];
    const the = await PublicationRig.start({ publication: { resignMinutes: 60, freshHours, push: [A, B] } });
    the.#folders.push(A, B);
    await the.publish({ publication: 7 });
    the.rig.passTime(HOUR);
    return { the, A, B };
  }

  async close(): Promise<void> {
    await this.rig.close();
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }

  get signer(): RoleSigner {
    return this.rig.publisher.root.signers.timestamp;
  }

  /** By the key server's clock. */
  now(): number {
    return this.rig.server.state.now();
  }

  put(path: string, body: Uint8Array, authorization: string | null = `Bearer ${this.token}`): Promise<Response> {
    const headers = authorization === null ? {} : { authorization };
    return fetch(this.rig.server.url + path, { method: 'PUT', body: Buffer.from(body), headers });
  }

  /** Brings a publication to the hosts, but for its timestamp. */
  async bring(publication: number): Promise<void> {
    for (const host of this.hosts) await bringSnapshot(host, publication);
  }

  /** What is published at the host alone: the key server finds it there. */
  async showAtHost(wish: TimestampWish = {}): Promise<void> {
    const bytes = this.timestamp(wish);
    await this.bring(saidBy(bytes).publication);
    putTimestamp(this.site, bytes);
  }

  /** The same at one of several hosts, by whoever else has the key. @param ago - seconds since it was signed */
  async showAt(host: string, ago: number, wish: TimestampWish): Promise<void> {
    await bringSnapshot(host, wish.publication ?? 1);
    putTimestamp(host, this.timestamp({ signed: this.now() - ago, ...wish }));
  }

  /** As a publisher does who has published it before. */
  async handOver(timestamp: Uint8Array, roots: readonly Uint8Array[] = []): Promise<HandedOver> {
    const publication = publicationIn(timestamp);
    if (publication !== undefined) await this.bring(publication);
    const expiries = [
      { role: 'snapshot', expires: this.now() + 1000 },
      { role: 'targets', expires: this.now() + 2000 },
    ];
    const response = await this.put(PUBLICATION_PATH, encodeHandOver({ timestamp, roots, expiries }));
    await this.rig.server.keeper.idle();
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Hands over a timestamp that has to be taken. */
  async publish(wish: TimestampWish = {}): Promise<Uint8Array> {
    const bytes = this.timestamp(wish);
    const { status, body } = await this.handOver(bytes);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return bytes;
  }

  /** A timestamp of the publisher, signed now. */
  timestamp(wish: TimestampWish = {}): Uint8Array {
    return encodeTimestamp(this.signer, { signed: this.now(), ...wish });
  }

  /** What a reader who holds the first root makes of a timestamp. */
  read(bytes: Uint8Array): TimestampMetadata {
    const root = verifyFirstRoot(this.rig.publisher.root.bytes, STRICT);
    return verifyTimestamp(bytes, root, undefined, STRICT) as TimestampMetadata;
  }

  /** The timestamp that the key server answers with. */
  async served(): Promise<Uint8Array> {
    return new Uint8Array(await (await fetch(this.rig.server.url + TIMESTAMP_PATH)).arrayBuffer());
  }

  /** Where the timestamp lies at the web host. */
  get pushedFile(): string {
    return join(this.site, TIMESTAMP_PATH);
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

/** `undefined` where it is no timestamp. */
function publicationIn(bytes: Uint8Array): number | undefined {
  try {
    return saidBy(bytes).publication;
  } catch {
    return undefined;
  }
}

export function putTimestamp(host: string, bytes: Uint8Array): void {
  const file = join(host, TIMESTAMP_PATH);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
}

export function timestampAt(host: string): Uint8Array {
  return new Uint8Array(readFileSync(join(host, TIMESTAMP_PATH)));
}
