/** Files that earlier publications named, or that runs which were interrupted had begun: they are counted, since readers may still come for them. */
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
import { READER_OPTIONS } from '../keys/roots.ts';
import { isLeftoverName } from '../protect/writers/files.ts';
import { isImmutablePath } from '../publication/files.ts';
import { fileOfRole } from '../publication/roles.ts';
import { rootsOf, underAny } from '../publication/signed.ts';
import { sha256Of } from './documents.ts';
import type { KnownSite } from './site.ts';
import { type ListedSource, Unreadable } from './sources.ts';

export class Leftovers {
  readonly #source: ListedSource;
  readonly #site: KnownSite;
  #keys: Promise<ReadonlyMap<string, TufKey>> | undefined;

  constructor(source: ListedSource, site: KnownSite) {
    this.#source = source;
    this.#site = site;
  }

  async has(path: string): Promise<boolean> {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (isLeftoverName(name)) return true;
    if (!isImmutablePath(path)) return false;
    try {
      if (path.startsWith(METADATA_PATH)) return this.#isOlder(name) && (await this.#isSigned(path, name));
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

  /** Tells whether one of the site's keys has signed a file of metadata, as the file of this number and kind: a signed file could be renamed. */
  async #isSigned(path: string, name: string): Promise<boolean> {
    this.#keys ??= everyKey(this.#source, this.#site);
    const keys = await this.#keys;
    const bytes = await this.#source.read(path, PUBLICATION_LIMITS.snapshotLength);
    if (bytes === undefined || bytes.length > PUBLICATION_LIMITS.snapshotLength) return false;
    const envelope = openEnvelope(bytes, name);
    const { signatures, message } = envelope;
    const anyone = { keyids: [...keys.keys()], threshold: 1 };
    const signers = await countSigners(signatures, message, anyone, keys, verifyEd25519);
    return signers > 0 && isNamedBy(envelope.signed(), name);
  }

  /**
   * Returns the start of a file's name: the hash of its content, or of the head of its object, which has to name this site and this source.
   *
   * The signature of the head is not checked: an object of an earlier key of the publisher is a leftover as well, and the metadata that say
   * which keys those were may be gone by now. Nothing is lost by it. The file is only counted, like contents, which have no signature at all;
   * no publication sends readers there, and none believes an object of another key.
   */
  async #hashOf(path: string, name: string): Promise<string | undefined> {
    const stream = await this.#source.open(path);
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

/**
 * Finds the keys that have signed for this site at some time: those of all roots, and those that the lists `targets` which are still there gave
 * to sections.
 *
 * @throws PublicationError
 */
async function everyKey(source: ListedSource, { publication }: KnownSite): Promise<ReadonlyMap<string, TufKey>> {
  const { root, targets } = publication.state;
  const roots = await rootsOf(publication);
  const keys = new Map(roots.flatMap((root) => [...root.keys]));
  for (const name of await source.namesIn(METADATA_PATH)) {
    const version = Number(/^([1-9]\d{0,14})\.targets\.json$/.exec(name)?.[1] ?? 0);
    const earlier = version > 0 ? await readTargets(source, version, roots) : undefined;
    for (const [keyid, key] of earlier?.keys ?? []) keys.set(keyid, key);
  }
  return new Map([...keys, ...targets.keys, ...root.keys]);
}

/** Tells whether a file has the name of its number and kind; lists do not say which they are. */
function isNamedBy({ version, _type }: TufObject, name: string): boolean {
  const role = /^\d+\.(root|snapshot|timestamp)\.json$/.exec(name)?.[1];
  return name.startsWith(`${version}.`) && _type === (role ?? 'targets');
}

/** @returns `undefined` where the keys of no root have signed it */
async function readTargets(
  source: ListedSource,
  version: number,
  roots: readonly RootMetadata[],
): Promise<TargetsMetadata | undefined> {
  const file = { version, length: undefined, sha256: undefined };
  try {
    const bytes = await source.read(fileOfRole('targets', version), PUBLICATION_LIMITS.targetsLength);
    return await underAny(bytes ? roots : [], ({ roles: { targets: roleKeys }, keys }) => {
      return verifyTargets(bytes ?? new Uint8Array(0), 'targets', { roleKeys, keys }, file, READER_OPTIONS);
    });
  } catch (error) {
    if (error instanceof CodedError) return undefined;
    throw error;
  }
}
