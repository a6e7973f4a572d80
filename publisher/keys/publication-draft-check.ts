/**
 * Whether the metadata in a draft are, byte for byte, those that its documents, sections, settings, version and expiry make: signers are shown
 * these, so nothing may stand beside them, nor under the name of another key.
 */
import { sha256 } from '#primitives';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { fromHex, toHex } from '../../core/encoding/hex.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { binIndex, binName, binNames, DOCUMENTS_ROLE, pathHashOf } from '../../core/publication/bins.ts';
import { type TufObject, tufCanonical } from '../../core/publication/canonical.ts';
import { documentEntryOf, encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TargetsMetadata } from '../../core/publication/metadata.ts';
import { DESCRIPTOR_TARGET, documentPathOfHead, SETTINGS_TARGET } from '../../core/publication/names.ts';
import {
  binMetadata,
  documentsMetadata,
  fileTarget,
  type SectionKeys,
  targetsMetadata,
} from '../../core/publication/writer.ts';
import type { PublicationDraft } from './publication-draft.ts';
import { rolesOf } from './roots.ts';

const EARLIER_NAME = /^(?:targets|documents(?:-[0-9a-f]{1,4})?)$/;

/** What a role says in the publication that a draft is of: anew, or as before. */
export function inForce({ roles, earlier }: Pick<PublicationDraft, 'roles' | 'earlier'>, name: string) {
  return roles.find((role) => role.name === name)?.after ?? earlier.get(name);
}

/** @throws PublicationError, KeyError if what it says is malformed */
export async function checkSaysOnlyWhatIsShown(draft: PublicationDraft): Promise<boolean> {
  const [targets, documents] = [inForce(draft, 'targets'), inForce(draft, DOCUMENTS_ROLE)];
  const bits = documents?.bins?.bits ?? 0;
  if (targets === undefined || bits < 1 || bits > PUBLICATION_LIMITS.binBits) return false;
  if (![...draft.earlier.keys()].every((name) => EARLIER_NAME.test(name))) return false;
  for (const [target, bytes] of ownFiles(draft))
    if (targets.target(target)?.sha256 !== toHex(await sha256(bytes))) return false;
  const descriptor = await verifyDescriptor(draft.descriptor, 0); // for its form: when it ends, readers look
  if (descriptor.publisher !== draft.rootId) return false;
  const bins = new Set(binNames(bits));
  for (const { name, message, after } of draft.roles) {
    if (!['targets', DOCUMENTS_ROLE].includes(name) && !bins.has(name)) return false;
    const content = await contentOf(draft, name, after, bits);
    if (content === undefined || !equalBytes(tufCanonical(content), message)) return false;
  }
  return true;
}

async function contentOf(
  draft: PublicationDraft,
  name: string,
  after: TargetsMetadata,
  bits: number,
): Promise<TufObject | undefined> {
  const { version, expires } = draft;
  const about = { version, expires };
  const { targets: keys } = rolesOf(draft.root);
  if (name === DOCUMENTS_ROLE) return documentsMetadata(about, bits, keys);
  if (name !== 'targets') return binContent(about, name, after, bits);
  const own = ownFiles(draft).map(async ([target, bytes]) => [target, await fileTarget(bytes)] as const);
  return targetsMetadata(about, await Promise.all(own), keys, sectionsIn(after));
}

/** Every target has to belong to the bin. */
async function binContent(
  about: { readonly version: number; readonly expires: number },
  name: string,
  after: TargetsMetadata,
  bits: number,
): Promise<TufObject | undefined> {
  const targets: [string, TufObject][] = [];
  for (const path of after.targetPaths()) {
    const info = after.target(path);
    if (!info || binName(binIndex(await pathHashOf(path), bits), bits) !== name) return undefined;
    const document = documentPathOfHead(path);
    const { sha256: hash, length } = info;
    const plain = { hashes: { sha256: hash }, length };
    targets.push([path, document === undefined ? plain : encodeDocumentTarget(documentEntryOf(info, document))]);
  }
  return binMetadata(about, targets);
}

/** The sections that `targets` delegates to. */
export function sectionsIn({ delegations, keys }: TargetsMetadata): SectionKeys[] {
  return delegations
    .filter(({ name }) => name !== DOCUMENTS_ROLE)
    .map(({ name, paths = [], keyids, threshold }) => {
      const publicKeys = keyids.flatMap((keyid) => fromHex(keys.get(keyid)?.public, 32) ?? []);
      return { name, paths, publicKeys, threshold };
    });
}

function ownFiles({ descriptor, settings }: PublicationDraft): [target: string, bytes: Uint8Array][] {
  return [
    [DESCRIPTOR_TARGET, descriptor],
    [SETTINGS_TARGET, settings],
  ];
}
