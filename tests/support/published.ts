/** A reader of a published directory who verifies everything, from the first root to the last block, and lists what the publication names. */

import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streamOf } from '../../core/encoding/byte-reader.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { openCarrier } from '../../core/object/carrier.ts';
import type { OpenedDocument, SetKey } from '../../core/object/document-reader.ts';
import { headDigest } from '../../core/object/head.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { binNames } from '../../core/publication/bins.ts';
import { PublicationClient } from '../../core/publication/client.ts';
import { type DocumentEntry, documentEntryOf } from '../../core/publication/document-entry.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { parseTargets } from '../../core/publication/metadata.ts';
import {
  contentTargetOf,
  DESCRIPTOR_TARGET,
  headTargetOf,
  METADATA_PATH,
  metadataFile,
  SETTINGS_TARGET,
  targetFile,
} from '../../core/publication/names.ts';
import { inTurn } from '../../core/publication/sources.ts';

/** A publication that was verified. */
export interface Published {
  readonly version: number;
  /** Number of metadata files that its snapshot names. */
  readonly files: number;
  /** Paths of all documents, in their order. */
  readonly paths: readonly string[];
  readonly entry: (path: string) => Promise<DocumentEntry>;
  /** Opens a document; its content throws at the first bad block. */
  readonly open: (path: string) => Promise<OpenedDocument>;
}

/** Metadata that a client trusts from one visit to the next. */
export type TrustedStore = Map<string, Uint8Array>;

export interface PublishedOptions {
  readonly site: string;
  /** Set keys by their ids. */
  readonly keys: ReadonlyMap<string, Uint8Array>;
  readonly now: number;
  /** Metadata that an earlier visit trusted: nothing may go back behind it. */
  readonly store?: TrustedStore;
  /** Defaults to `true`. */
  readonly strict?: boolean;
}

export async function readPublished(out: string, options: PublishedOptions): Promise<Published> {
  const { site, keys, now, store = new Map(), strict = true } = options;
  const file = (path: string) => readFile(join(out, path));
  const metadata = (name: string) => file(METADATA_PATH + name).catch(() => undefined);
  const client = new PublicationClient({
    verify: verifyEd25519,
    strict,
    firstRoot: () => file(`${METADATA_PATH}1.root.json`),
    grace: 0,
    source: { metadata, timestamps: (_, isEnough) => inTurn([() => metadata('timestamp.json')], isEnough) },
    store: { read: async (name) => store.get(name), write: async (name, bytes) => void store.set(name, bytes) },
  });
  await client.refresh(now);
  const { snapshot } = client.check(now);
  const ownTarget = async (path: string) => {
    const target = await client.target(path, now);
    const bytes = await file(targetFile(path, target?.sha256 ?? ''));
    if (bytes.length !== target?.length) throw new Error(`${path} is not the target`);
    return bytes;
  };
  const { publisherKeyBytes } = await verifyDescriptor(await ownTarget(DESCRIPTOR_TARGET), now);
  await ownTarget(SETTINGS_TARGET);
  const entry = async (path: string) => {
    const target = await client.target(headTargetOf(path), now);
    if (target === undefined) throw new Error(`the publication has no ${path}`);
    return documentEntryOf(target, path);
  };
  const open = async (path: string) => {
    const { head, headLength, content, inPage } = await entry(path);
    const place = inPage ? path : targetFile(headTargetOf(path), head);
    const object = openCarrier(createReadStream(join(out, place)) as AsyncIterable<Uint8Array>);
    const findKey = async (id: string) => {
      const key = keys.get(id);
      return key && ({ key, notBefore: 0, notAfter: 2 ** 40 } satisfies SetKey);
    };
    const expected = { site, path, publisherKey: publisherKeyBytes };
    const opened = await openDocument(object, expected, { findKey, now: 1 }, async () =>
      content === undefined
        ? streamOf()
        : (createReadStream(join(out, targetFile(contentTargetOf(path), content))) as AsyncIterable<Uint8Array>),
    );
    const { head: verified } = opened.reader;
    if (toHex(await headDigest(verified)) !== head || verified.length !== headLength) throw new Error(`${path}: head`);
    return opened;
  };
  const paths = await pathsOf(snapshot.roles, metadata);
  return { version: snapshot.version, files: snapshot.roles.size, paths, entry, open };
}

/** Finds the documents that bins and sections name, about which the client is then asked one by one. */
async function pathsOf(
  roles: ReadonlyMap<string, { readonly version: number }>,
  metadata: (name: string) => Promise<Buffer | undefined>,
): Promise<string[]> {
  const read = async (role: string) => {
    const bytes = await metadata(metadataFile(role, roles.get(role)?.version ?? 0));
    if (bytes === undefined) throw new Error(`there is no ${role}`);
    return parseTargets(openEnvelope(bytes, role).signed(), role);
  };
  const { bins } = await read('documents');
  const named: string[] = [];
  for (const { name } of (await read('targets')).delegations) named.push(...(await read(name)).targetPaths());
  for (const name of binNames(bins?.bits ?? 0)) named.push(...(await read(name)).targetPaths());
  const heads = named.filter((path) => path.endsWith('.protected'));
  return heads.map((path) => `/${path.slice(0, -'.protected'.length)}`).sort();
}
