/** The publisher's side, by `core/` alone: keys, sets, documents on a content host, descriptors and sealed bundles. */
import { gzipSync } from 'node:zlib';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { encodeBundle, type KeyBundle } from '../../core/keys/bundle.ts';
import { encodeDescriptor, type ProviderDescriptor } from '../../core/keys/descriptor.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import type { Metadata } from '../../core/object/metadata.ts';
import { encodeObject, type PublisherIdentity, publisherIdentity } from '../../core/object/writer.ts';
import { headTargetOf } from '../../core/publication/names.ts';
import { urlPathOf } from '../../core/site/path.ts';
import type { ContentHost } from './content-host.ts';
import type { FirstRoot } from './first-root.ts';
import { createPublication, headLengthOf, signOnto } from './signed-publication.ts';
import type { TestPublication } from './test-publication.ts';

export const SITE = 'news.example';

export interface PublisherWithSets {
  readonly identity: PublisherIdentity;
  readonly root: FirstRoot;
  readonly publication: TestPublication;
  /** Called after every publication: the reading site looks for a newer one. */
  afterPublishing: () => Promise<unknown>;
  readonly workspace: string;
  readonly sets: ReadonlyMap<string, NamedKey>;
}

export async function createPublisher(setNames: readonly string[] = ['day-1', 'day-2']): Promise<PublisherWithSets> {
  const sets = new Map<string, NamedKey>();
  for (const name of setNames) sets.set(name, await createSetKey());
  return {
    identity: await publisherIdentity(ed25519KeyPair(randomBytes(32))),
    ...(await createPublication()),
    afterPublishing: async () => undefined,
    workspace: toBase64url(randomBytes(16)),
    sets,
  };
}

export async function createSetKey(): Promise<NamedKey> {
  const key = randomBytes(32);
  return { id: await keyIdOf('set', key), key };
}

export function setOf(publisher: PublisherWithSets, name: string): NamedKey {
  const set = publisher.sets.get(name);
  if (!set) throw new Error(`the publisher has no set ${name}`);
  return set;
}

export interface TestDocument {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mediaType: string;
  /** Left out: public, signed only. */
  readonly set?: string;
  readonly gzip?: boolean;
  readonly headers?: Record<string, string>;
  readonly lastModified?: number;
}

/** Puts documents on the content host, in one publication, as `wispr protect` and a web host would. */
export async function publish(
  publisher: PublisherWithSets,
  host: ContentHost,
  ...documents: readonly TestDocument[]
): Promise<void> {
  for (const document of documents) await add(publisher, host, document);
  await signOnto(publisher.publication, host.files);
  await publisher.afterPublishing();
}

async function add(publisher: PublisherWithSets, host: ContentHost, document: TestDocument): Promise<void> {
  const { path, set } = document;
  const plain = Buffer.from(document.content);
  const content = document.gzip ? gzipSync(plain) : plain;
  const metadata: Metadata = {
    contentLength: content.length,
    mediaType: document.mediaType,
    ...(document.gzip && { contentCoding: 'gzip' as const }),
    ...(document.headers && { headers: document.headers }),
    ...(document.lastModified !== undefined && { lastModified: document.lastModified }),
  };
  const { identity, publication } = publisher;
  const options = { site: SITE, path, publisher: identity, metadata, ...(set && { set: setOf(publisher, set) }) };
  const object = await encodeObject(options, content);
  if (set) await publication.addEncrypted(path, setOf(publisher, set).id, object, await headLengthOf(object));
  else await publication.addPublic(path, object, content);
  host.files.set(urlPathOf(path), set ? Buffer.from('<!doctype html><title>Teaser</title>') : content);
}

/** URL path of the file with a document's head, as the publication names it. */
export function fileOf({ publication }: PublisherWithSets, path: string): string {
  return publication.urlPathOf(headTargetOf(path));
}

export interface BundleOptions {
  readonly keyServer: string;
  readonly reading: string;
  /** Origins of the content hosts, in order. */
  readonly content: string | readonly string[];
  readonly serial?: number;
  readonly expires?: number;
  readonly name?: string;
  readonly withoutTimestampKey?: boolean;
  /** Content of the bundle instead of the publisher's sets. */
  readonly bundle?: Partial<KeyBundle>;
}

/** A signed descriptor. */
export function describe(publisher: PublisherWithSets, options: BundleOptions): Uint8Array {
  const now = Math.floor(Date.now() / 1000);
  const descriptor: ProviderDescriptor = {
    expires: options.expires ?? now + 365 * 86_400,
    issued: now,
    keyServer: options.keyServer,
    name: options.name ?? 'The Harbour News',
    publisherKey: toBase64url(publisher.identity.publicKey),
    root: publisher.root.id,
    sites: [{ content: [options.content].flat(), reading: options.reading, site: SITE }],
  };
  return encodeDescriptor(descriptor, publisher.identity.secretKey);
}

/** A bundle sealed to `recipient`, with all sets of the publisher. */
export function sealBundle(
  publisher: PublisherWithSets,
  recipient: Uint8Array,
  options: BundleOptions,
): Promise<Uint8Array> {
  const { identity, root, workspace, sets } = publisher;
  const bundle: KeyBundle = {
    descriptor: toBase64url(describe(publisher, options)),
    root: toBase64url(root.bytes),
    ...(!options.withoutTimestampKey && { timestampKey: toBase64url(root.timestampSeed) }),
    sets: [...sets].map(([name, { id, key }]) => ({ id, key: toBase64url(key), name, site: SITE })),
    ...options.bundle,
  };
  const issued = Math.floor(Date.now() / 1000);
  return encodeBundle(bundle, { issued, serial: options.serial ?? 1, workspace }, recipient, identity);
}
