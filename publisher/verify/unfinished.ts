/**
 * Tells what an unfinished `wispr publish` may have left from what it never leaves: pages and copies come before the publication that names
 * them, and go after it. The publisher has signed an object for the very place, and metadata by themselves. It stays a finding: nobody is meant
 * to find such a file for long, and of a page's words nothing is signed. Of a page by a template of the publisher's own nothing is known but
 * its link, which everybody can write: it counts as a stranger's.
 */
import { basename, dirname } from 'node:path/posix';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { CodedError } from '../../core/errors.ts';
import { isHtmlCarrier, openCarrier } from '../../core/object/carrier.ts';
import { type Head, headDigest } from '../../core/object/head.ts';
import { readHead } from '../../core/object/read-head.ts';
import type { TufKey } from '../../core/publication/keys.ts';
import { contentTargetOf, METADATA_PATH, targetFile } from '../../core/publication/names.ts';
import { OBJECT_SUFFIX, urlPathOf } from '../../core/site/path.ts';
import { leadsTo, recogniseFallbackPage } from '../fallback-check.ts';
import { isPage, mediaTypeOf } from '../site/media-type.ts';
import { HASH_PREFIX } from '../site/names.ts';
import { fallbackPart } from './documents.ts';
import type { DirectoryPlace } from './files.ts';
import { sha256Of, verifyContent } from './object.ts';
import { readStart, Unreadable } from './place.ts';
import { isSignedByAny, presentKeys } from './signed-metadata.ts';
import type { KnownSite } from './site.ts';

/** Enough to recognise a page that carries its object. */
const CARRIER_START = 1024;

export class Unfinished {
  readonly #place: DirectoryPlace;
  readonly #site: KnownSite;
  readonly #keys: ReadonlyMap<string, TufKey>;
  #beside: { readonly directory: string; readonly names: ReadonlyMap<string, readonly string[]> } | undefined;

  constructor(place: DirectoryPlace, site: KnownSite) {
    this.#place = place;
    this.#site = site;
    this.#keys = presentKeys(site);
  }

  /** Whether the file at a path that the publication does not name is such a one. */
  async has(path: string): Promise<boolean> {
    try {
      return path.startsWith(METADATA_PATH)
        ? await isSignedByAny(this.#place, path, this.#keys)
        : await this.#isOfObject(path);
    } catch (error) {
      if (error instanceof CodedError || error instanceof Unreadable) return false;
      throw error;
    }
  }

  async #isOfObject(path: string): Promise<boolean> {
    const start = await readStart(this.#place, path, CARRIER_START);
    const inPage = start !== undefined && isHtmlCarrier(start);
    const isForPeople = isPage(mediaTypeOf(path)) && (await this.#isFallbackPage(path, inPage));
    if (inPage) return isForPeople && (await this.#headOf(path, path)) !== undefined;
    for (const object of (await this.#objectsBeside(dirname(path))).get(basename(path)) ?? []) {
      const head = await this.#headOf(object, path);
      if (head === undefined || !(await isNamedBy(head, object))) continue;
      if (isForPeople || (await this.#isCopyOf(head, path))) return true;
    }
    return false;
  }

  async #isFallbackPage(path: string, inPage: boolean): Promise<boolean> {
    const stream = await this.#place.open(path);
    const page = stream && recogniseFallbackPage(await fallbackPart(stream, inPage));
    return page !== undefined && !page.ownTemplate && leadsTo(page, this.#site, urlPathOf(path));
  }

  /** Whether a file has the content that the head names. */
  async #isCopyOf(head: Head, path: string): Promise<boolean> {
    const copy = await this.#place.open(path);
    if (copy === undefined) return false;
    const hash = await sha256Of(copy);
    const content = await this.#place.open(targetFile(contentTargetOf(path), hash));
    return content !== undefined && (await verifyContent(head, content)) === hash;
  }

  /** @returns `undefined` if the publisher did not sign it for this place */
  async #headOf(file: string, path: string): Promise<Head | undefined> {
    const stream = await this.#place.open(file);
    if (stream === undefined) return undefined;
    const input = new ByteReader(openCarrier(stream));
    try {
      const { site, publisherKey } = this.#site;
      return await readHead(input, { site, path, publisherKey });
    } catch (error) {
      if (error instanceof CodedError) return undefined;
      throw error;
    } finally {
      await input.cancel();
    }
  }

  /** Files of objects in a directory, by the documents' names. The last directory is remembered, since files come directory by directory. */
  async #objectsBeside(directory: string): Promise<ReadonlyMap<string, readonly string[]>> {
    if (this.#beside?.directory === directory) return this.#beside.names;
    const names = new Map<string, string[]>();
    const prefix = directory === '/' ? '' : directory;
    for (const name of await this.#place.namesIn(directory)) {
      if (!HASH_PREFIX.test(name) || !name.endsWith(OBJECT_SUFFIX)) continue;
      const document = name.replace(HASH_PREFIX, '').slice(0, -OBJECT_SUFFIX.length);
      const files = names.get(document) ?? [];
      files.push(`${prefix}/${name}`); // not copied: there may be as many of one document as somebody likes
      names.set(document, files);
    }
    this.#beside = { directory, names };
    return names;
  }
}

/** Whether an object lies under its own name: otherwise one could lie there a thousand times, and have the copy read as often. */
async function isNamedBy(head: Head, file: string): Promise<boolean> {
  return basename(file).startsWith(toHex(await headDigest(head)));
}
