/** Files that earlier publications named, or that runs which were interrupted had begun: they are counted, since readers may still come for them. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { CodedError } from '../../core/errors.ts';
import { headDigest } from '../../core/object/head.ts';
import { readUnverifiedHead } from '../../core/object/read-head.ts';
import type { TufKey } from '../../core/publication/keys.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { isLeftoverName } from '../protect/writers/files.ts';
import { isImmutablePath } from '../publication/files.ts';
import type { DirectoryPlace } from './files.ts';
import { sha256Of } from './object.ts';
import { Unreadable } from './place.ts';
import { everyKey, isSignedByAny } from './signed-metadata.ts';
import type { KnownSite } from './site.ts';

export class Leftovers {
  readonly #place: DirectoryPlace;
  readonly #site: KnownSite;
  #keys: Promise<ReadonlyMap<string, TufKey>> | undefined;

  constructor(place: DirectoryPlace, site: KnownSite) {
    this.#place = place;
    this.#site = site;
  }

  async has(path: string): Promise<boolean> {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (isLeftoverName(name)) return true;
    if (!isImmutablePath(path)) return false;
    try {
      if (path.startsWith(METADATA_PATH)) return this.#isOlder(name) && (await this.#isSigned(path));
      return (await this.#hashOf(path, name)) === name.slice(0, 64);
    } catch (error) {
      if (error instanceof CodedError || error instanceof Unreadable) return false;
      throw error;
    }
  }

  #isOlder(name: string): boolean {
    const { root, snapshot } = this.#site.publication.state;
    const newest = name.endsWith('.root.json') ? root.version : snapshot.version;
    return Number.parseInt(name, 10) <= newest;
  }

  async #isSigned(path: string): Promise<boolean> {
    this.#keys ??= everyKey(this.#place, this.#site);
    return isSignedByAny(this.#place, path, await this.#keys);
  }

  /**
   * What a file's name has to begin with: the hash of its content, or of the head of its object, which has to name this site and this place.
   *
   * Whose signature the head has is not asked: an object of the publisher's earlier key is a leftover as well, and which keys those were, only
   * metadata could say that may be gone by now. Nothing is lost by it. The file is only counted, like contents, which have no signature at all;
   * no publication sends readers there, and none believes an object of another key.
   */
  async #hashOf(path: string, name: string): Promise<string | undefined> {
    const stream = await this.#place.open(path);
    if (stream === undefined) return undefined;
    if (!name.endsWith(OBJECT_SUFFIX)) return sha256Of(stream);
    const documentPath = path.slice(0, -name.length) + name.slice(65, -OBJECT_SUFFIX.length);
    const input = new ByteReader(stream);
    try {
      const head = await readUnverifiedHead(input);
      const isHere = head.header.site === this.#site.site && head.header.path === documentPath;
      return isHere ? toHex(await headDigest(head)) : undefined;
    } finally {
      await input.cancel();
    }
  }
}
