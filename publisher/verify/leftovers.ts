/** Files that earlier publications named, or that runs which were interrupted had begun: they are counted, since readers may still come for them. */

import { basename } from 'node:path/posix';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { CodedError } from '../../core/errors.ts';
import { headDigest } from '../../core/object/head.ts';
import { readUnverifiedHead } from '../../core/object/read-head.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { countSigners, type TufKey, verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, TargetsMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { verifyTargets } from '../../core/publication/verify-roles.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { isLeftoverName } from '../protect/writers/files.ts';
import { isImmutablePath } from '../publication/files.ts';
import { rootsOf, underAny } from '../publication/signed.ts';
import { sha256Of } from './documents.ts';
import { type DirectoryPlace, readStart, Unreadable } from './places.ts';
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

type Keys = ReadonlyMap<string, TufKey>;

/** The keys that sign for this site today. */
function presentKeys({ publication: { state } }: KnownSite): Keys {
  return new Map([...state.targets.keys, ...state.root.keys]);
}

/**
 * The keys that have signed for this site at some time: those of all roots, and those that the lists `targets` which are still there gave to
 * sections.
 *
 * @throws PublicationError
 */
async function everyKey(place: DirectoryPlace, site: KnownSite): Promise<Keys> {
  const roots = await rootsOf(site.publication);
  const keys = new Map(roots.flatMap((root) => [...root.keys]));
  for (const name of await place.namesIn(METADATA_PATH)) {
    const version = Number(/^([1-9]\d{0,14})\.targets\.json$/.exec(name)?.[1] ?? 0);
    const earlier = version > 0 ? await readTargets(place, version, roots) : undefined;
    for (const [keyid, key] of earlier?.keys ?? []) keys.set(keyid, key);
  }
  for (const [keyid, key] of presentKeys(site)) keys.set(keyid, key);
  return keys;
}

/**
 * Whether one of the keys has signed a file of metadata, as the file of this number and kind: a signed file could be renamed.
 *
 * @throws CodedError for one that cannot be read, or is none
 */
async function isSignedByAny(place: DirectoryPlace, path: string, keys: Keys): Promise<boolean> {
  const bytes = await readStart(place, path, PUBLICATION_LIMITS.snapshotLength);
  if (bytes === undefined || bytes.length > PUBLICATION_LIMITS.snapshotLength) return false;
  const envelope = openEnvelope(bytes, basename(path));
  const { signatures, message } = envelope;
  const signers = countSigners(signatures, message, { keyids: [...keys.keys()], threshold: 1 }, keys, verifyEd25519);
  return signers > 0 && isNamedBy(envelope.signed(), basename(path));
}

/** Whether a file has the name of its number and kind; lists do not say which they are. */
function isNamedBy({ version, _type }: TufObject, name: string): boolean {
  const role = /^\d+\.(root|snapshot|timestamp)\.json$/.exec(name)?.[1];
  return name.startsWith(`${version}.`) && _type === (role ?? 'targets');
}

/** @returns `undefined` where the keys of no root have signed it */
async function readTargets(
  place: DirectoryPlace,
  version: number,
  roots: readonly RootMetadata[],
): Promise<TargetsMetadata | undefined> {
  try {
    const bytes = await place.read(`${METADATA_PATH}${version}.targets.json`, PUBLICATION_LIMITS.targetsLength);
    if (bytes === undefined) return undefined;
    const file = { version, length: undefined, sha256: undefined };
    return await underAny(roots, ({ roles: { targets: roleKeys }, keys }) => {
      return verifyTargets(bytes, 'targets', { roleKeys, keys }, file, { verify: verifyEd25519, strict: true });
    });
  } catch (error) {
    if (error instanceof CodedError) return undefined;
    throw error;
  }
}
