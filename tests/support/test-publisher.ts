/** A publisher for tests: real keys, real objects, a real descriptor; what it publishes stays in memory. */
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { encodeBundle } from '../../core/keys/bundle.ts';
import { encodeDescriptor, type SiteDescription } from '../../core/keys/descriptor.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import type { Metadata } from '../../core/object/metadata.ts';
import {
  encodeObject,
  type ObjectOptions,
  type PublisherIdentity,
  publisherIdentity,
} from '../../core/object/writer.ts';
import { objectUrlPathOf, urlPathOf } from '../../core/site/path.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { createFirstRoot, type FirstRoot } from './first-root.ts';
import { createSetKey } from './publisher-with-sets.ts';

export interface DocumentWish {
  readonly content: Uint8Array | string;
  readonly metadata?: Partial<Metadata>;
  readonly set?: NamedKey;
  readonly blockChunks?: number;
  readonly paddingLength?: number;
}

/** What a descriptor says instead of the usual. */
export interface DescriptorWish {
  readonly sites?: SiteDescription[];
  readonly issued?: number;
  readonly expires?: number;
  readonly name?: string;
}

export class TestPublisher {
  readonly identity: PublisherIdentity;
  readonly root: FirstRoot;
  readonly site: string;
  /** The set of everything that names no other. */
  readonly set: NamedKey;

  private constructor(identity: PublisherIdentity, root: FirstRoot, site: string, set: NamedKey) {
    this.identity = identity;
    this.root = root;
    this.site = site;
    this.set = set;
  }

  static async create(site = 'news.example'): Promise<TestPublisher> {
    const identity = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
    return new TestPublisher(identity, await createFirstRoot(), site, await createSetKey());
  }

  /** A protected object; without encryption, the head of a signed document. */
  async object(path: string, wish: DocumentWish & { readonly signedOnly?: boolean }): Promise<Uint8Array> {
    const content = typeof wish.content === 'string' ? utf8(wish.content) : wish.content;
    const options: ObjectOptions = {
      site: this.site,
      path,
      publisher: this.identity,
      metadata: { mediaType: 'text/html; charset=utf-8', ...wish.metadata, contentLength: content.length },
      ...(!wish.signedOnly && { set: wish.set ?? this.set }),
      ...(wish.blockChunks !== undefined && { blockChunks: wish.blockChunks }),
      ...(wish.paddingLength !== undefined && { paddingLength: wish.paddingLength }),
    };
    return encodeObject(options, content);
  }

  /** Puts an encrypted document on a content host. */
  async publish(files: Map<string, Uint8Array>, path: string, wish: DocumentWish): Promise<Uint8Array> {
    const object = await this.object(path, wish);
    files.set(objectUrlPathOf(path), object);
    return object;
  }

  /** Puts a signed document on a content host: head and file. */
  async publishSigned(files: Map<string, Uint8Array>, path: string, wish: DocumentWish): Promise<void> {
    files.set(objectUrlPathOf(path), await this.object(path, { ...wish, signedOnly: true }));
    files.set(urlPathOf(path), typeof wish.content === 'string' ? utf8(wish.content) : wish.content);
  }

  /** Origin of its reading site. */
  get reading(): string {
    return `https://read.${this.site}`;
  }

  /** A key bundle with the publisher's set, sealed to a key server. */
  bundle(keyServer: string, recipient: Uint8Array, wish?: DescriptorWish): Promise<Uint8Array> {
    const { id, key } = this.set;
    const bundle = {
      descriptor: toBase64url(this.descriptor(keyServer, wish)),
      root: toBase64url(this.root.bytes),
      sets: [{ id, key: toBase64url(key), name: 'everything', site: this.site }],
    };
    const about = { issued: nowInSeconds(), serial: 1, workspace: toBase64url(randomBytes(16)) };
    return encodeBundle(bundle, about, recipient, this.identity);
  }

  descriptor(keyServer: string, wish: DescriptorWish = {}): Uint8Array {
    const now = nowInSeconds();
    const site = { site: this.site, content: [`http://${this.site}`], reading: this.reading };
    return encodeDescriptor(
      {
        name: 'The Morning Paper',
        keyServer,
        publisherKey: toBase64url(this.identity.publicKey),
        root: this.root.id,
        issued: now - 60,
        expires: now + 86_400,
        sites: [site],
        ...wish,
      },
      this.identity.secretKey,
    );
  }
}
