/** A publisher for tests: real keys, real objects, a real descriptor, a real publication; what it publishes stays in memory. */
import { ed25519KeyPair, randomBytes, sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { toHex } from '../../core/encoding/hex.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { encodeBundle } from '../../core/keys/bundle.ts';
import { encodeDescriptor, type SiteDescription } from '../../core/keys/descriptor.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { encodeHtmlCarrier } from '../../core/object/carrier.ts';
import type { Metadata } from '../../core/object/metadata.ts';
import {
  encodeObject,
  type ObjectOptions,
  type PublisherIdentity,
  publisherIdentity,
} from '../../core/object/writer.ts';
import { encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import { contentTargetOf, DESCRIPTOR_TARGET, headTargetOf } from '../../core/publication/names.ts';
import { urlPathOf } from '../../core/site/path.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { FirstRoot } from './first-root.ts';
import { createSetKey } from './publisher-with-sets.ts';
import { createPublication, headLengthOf, signOnto } from './signed-publication.ts';
import type { TestPublication, TimestampWish } from './test-publication.ts';

export interface DocumentWish {
  readonly content: Uint8Array | string;
  readonly metadata?: Partial<Metadata>;
  readonly set?: NamedKey;
  readonly blockChunks?: number;
  readonly paddingLength?: number;
}

/** Values of a descriptor instead of the usual. */
export interface DescriptorWish {
  readonly sites?: SiteDescription[];
  readonly issued?: number;
  readonly expires?: number;
  readonly name?: string;
  readonly httpcrypt?: HttpcryptEndpoint;
}

type Files = Map<string, Uint8Array>;

export class TestPublisher {
  readonly identity: PublisherIdentity;
  readonly root: FirstRoot;
  readonly publication: TestPublication;
  readonly site: string;
  /** The set of everything that names no other. */
  readonly set: NamedKey;
  /** Called after every publication: readers look for a newer one. */
  afterPublishing: () => Promise<unknown> = async () => undefined;
  /** Puts signing off: see {@link together}. */
  #isCollecting = false;

  private constructor(
    identity: PublisherIdentity,
    root: FirstRoot,
    publication: TestPublication,
    site: string,
    set: NamedKey,
  ) {
    this.identity = identity;
    this.root = root;
    this.publication = publication;
    this.site = site;
    this.set = set;
  }

  static async create(site = 'news.example'): Promise<TestPublisher> {
    const identity = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
    const { root, publication } = await createPublication();
    return new TestPublisher(identity, root, publication, site, await createSetKey());
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

  /** Publishes an encrypted document, and puts everything on a content host. */
  async publish(files: Files, path: string, wish: DocumentWish): Promise<Uint8Array> {
    const object = await this.object(path, wish);
    await this.publishObject(files, path, object, wish);
    return object;
  }

  /** Publishes bytes as the object at a path, whatever they are: the publication names their head. */
  async publishObject(
    files: Files,
    path: string,
    object: Uint8Array,
    { set = this.set, headLength }: { readonly set?: NamedKey; readonly headLength?: number } = {},
  ): Promise<void> {
    await this.publication.addEncrypted(path, set.id, object, headLength ?? (await headLengthOf(object)));
    await this.sign(files);
  }

  /** Publishes an encrypted document inside its fallback page. */
  async publishCarrier(files: Files, path: string, object: Uint8Array, carrier?: Uint8Array): Promise<void> {
    const headLength = await headLengthOf(object);
    const head = toHex(await sha256(object.subarray(0, headLength)));
    const entry = { head, headLength, set: this.set.id, content: undefined, inPage: true };
    this.publication.targetsFor(headTargetOf(path)).set(headTargetOf(path), encodeDocumentTarget(entry));
    files.set(urlPathOf(path), carrier ?? encodeHtmlCarrier(object, utf8('<p>fallback</p>')));
    await this.sign(files);
  }

  /** Publishes a signed document: head and content. */
  async publishSigned(files: Files, path: string, wish: DocumentWish): Promise<void> {
    const content = typeof wish.content === 'string' ? utf8(wish.content) : wish.content;
    await this.publication.addPublic(path, await this.object(path, { ...wish, signedOnly: true }), content);
    await this.sign(files);
  }

  /** Signs what there is as a new publication, puts it on a content host, and has readers look. */
  async sign(files: Files, wish: TimestampWish = {}): Promise<void> {
    if (this.#isCollecting) return;
    await signOnto(this.publication, files, wish);
    await this.afterPublishing();
  }

  /** Signs everything that `work` publishes as one new publication, in place of one for each document. */
  async together(files: Files, work: () => Promise<void>): Promise<void> {
    this.#isCollecting = true;
    await work().finally(() => {
      this.#isCollecting = false;
    });
    await this.sign(files);
  }

  /** Sets what the publication says of the provider. */
  setDescriptor(descriptor: Uint8Array): void {
    this.publication.wholeFiles.set(DESCRIPTOR_TARGET, descriptor);
  }

  /** URL path of the file with a document's head. */
  fileOf(path: string): string {
    return this.publication.urlPathOf(headTargetOf(path));
  }

  /** URL path of the file with a public document's content. */
  contentOf(path: string): string {
    return this.publication.urlPathOf(contentTargetOf(path));
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
