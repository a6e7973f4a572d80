/**
 * Whether a draft is what its signers are shown: the metadata in it are, byte for byte, those that its documents, sections, settings, version
 * and expiry make, under the keys that the root names, so nothing stands beside them; and what they are compared with can be compared.
 */
import { equalBytes } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { fromHex } from '../../core/encoding/hex.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { binIndex, binName, binNames, DOCUMENTS_ROLE, pathHashOf } from '../../core/publication/bins.ts';
import { type TufObject, tufCanonical } from '../../core/publication/canonical.ts';
import { checkDelegations, sameMembers } from '../../core/publication/delegations.ts';
import { documentEntryOf, encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import { tufKeyId } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TargetsMetadata } from '../../core/publication/metadata.ts';
import {
  DESCRIPTOR_TARGET,
  documentPathOfHead,
  headTargetOf,
  ownTargetsOf,
  SETTINGS_TARGET,
} from '../../core/publication/names.ts';
import { parseSettings } from '../../core/publication/settings.ts';
import {
  binMetadata,
  documentsMetadata,
  fileTarget,
  type SectionKeys,
  targetsMetadata,
} from '../../core/publication/writer.ts';
import { problemOfFile } from '../site/names.ts';
import { baseOfBin, bitsOf, hasGoodSections, holdsOnlyItsOwn, isBase } from './publication-bases.ts';
import type { PublicationDraft } from './publication-draft.ts';
import { rolesOf } from './roots.ts';

/** What a role says in the publication that a draft is of: anew, or as before. */
export function inForce({ roles, earlier }: Pick<PublicationDraft, 'roles' | 'earlier'>, name: string) {
  return roles.find((role) => role.name === name)?.after ?? earlier.get(name);
}

/** What the checks look at. */
interface Checked {
  readonly draft: PublicationDraft;
  /** The roles of these names that are in force with it. */
  readonly targets: TargetsMetadata;
  readonly documents: TargetsMetadata;
  /** Of the bins that are in force with it. */
  readonly bits: number;
}

/** @throws PublicationError, KeyError if what it says is malformed */
export async function checkSaysOnlyWhatIsShown(draft: PublicationDraft): Promise<boolean> {
  const [targets, documents] = [inForce(draft, 'targets'), inForce(draft, DOCUMENTS_ROLE)];
  const bits = bitsOf(documents) ?? 0;
  if (!targets || !documents || bits < 1 || bits > PUBLICATION_LIMITS.binBits) return false;
  const checked = { draft, targets, documents, bits };
  for (const check of CHECKS) if (!(await check(checked))) return false;
  return true;
}

const CHECKS: readonly ((checked: Checked) => boolean | Promise<boolean>)[] = [
  needsOthers,
  ({ targets }) => hasGoodSections(targets),
  hasKeysOfRoot,
  hasNoFewerBins,
  isWhole,
  comparesBinWithBin,
  namesItsFiles,
  comparesFileWithFile,
  saysNothingElse,
  contentsFit,
];

/** A root for which one signature is enough asks nobody for another: it is an older one, or somebody's own. */
function needsOthers({ draft }: Checked): boolean {
  return draft.root.roles.targets.threshold > 1;
}

/** Whether the keys of the root's `targets`, and as many of them, have to sign documents and bins too; and each is shown by its own id. */
async function hasKeysOfRoot({ draft: { root }, targets, documents }: Checked): Promise<boolean> {
  const by = { roleKeys: root.roles.targets, keys: root.keys };
  const ids = await Promise.all(rolesOf(root).targets.publicKeys.map(tufKeyId));
  checkDelegations('targets', targets, by);
  checkDelegations(DOCUMENTS_ROLE, documents, by);
  return sameMembers(ids, by.roleKeys.keyids);
}

/** Bins of earlier numbers stay where they are, with all that they said. */
function hasNoFewerBins({ draft: { earlier }, bits }: Checked): boolean {
  return bits >= (bitsOf(earlier.get(DOCUMENTS_ROLE)) ?? 0);
}

/** Where it says which bins there are, all of them are in it: what another list of that name would say, nobody is shown. */
function isWhole({ draft: { roles }, bits }: Checked): boolean {
  const names = new Set(roles.map(({ name }) => name));
  return !names.has(DOCUMENTS_ROLE) || binNames(bits).every((name) => names.has(name));
}

async function comparesBinWithBin({ draft: { earlier, roles }, bits }: Checked): Promise<boolean> {
  const before = bitsOf(earlier.get(DOCUMENTS_ROLE));
  const bins = roles.map(({ name }) => name).filter(isNameOfBin);
  const bases = before === undefined ? [] : bins.map((name) => baseOfBin(name, bits, before));
  const comparable = new Set(['targets', DOCUMENTS_ROLE, ...bases]);
  for (const [name, list] of earlier) if (!comparable.has(name) || !(await isBase(name, list, before))) return false;
  return true;
}

/** Descriptor and settings are those that are named, of the form in which readers take them, and of this publisher. */
async function namesItsFiles({ draft, targets }: Checked): Promise<boolean> {
  for (const [target, bytes] of ownTargetsOf(draft))
    if (targets.target(target)?.sha256 !== (await hexDigest(bytes))) return false;
  parseSettings(draft.settings);
  const descriptor = await verifyDescriptor(draft.descriptor, 0); // for its form: when it ends, readers look
  return descriptor.publisher === draft.rootId;
}

/** Descriptor and settings are compared with those that the earlier `targets` named. */
async function comparesFileWithFile({ draft: { earlier, filesBefore } }: Checked): Promise<boolean> {
  const targets = earlier.get('targets');
  for (const [target, bytes] of filesBefore) {
    if (![DESCRIPTOR_TARGET, SETTINGS_TARGET].includes(target)) return false;
    if (targets?.target(target)?.sha256 !== (await hexDigest(bytes))) return false;
  }
  const [descriptor, settings] = [filesBefore.get(DESCRIPTOR_TARGET), filesBefore.get(SETTINGS_TARGET)];
  if (settings) parseSettings(settings);
  if (descriptor) await verifyDescriptor(descriptor, 0);
  return true;
}

async function saysNothingElse({ draft, bits }: Checked): Promise<boolean> {
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
  if (name !== 'targets')
    return namesDocuments(after) && (await holdsOnlyItsOwn(name, after, bits)) ? binContent(about, after) : undefined;
  const own = ownTargetsOf(draft).map(async ([target, bytes]) => [target, await fileTarget(bytes)] as const);
  return targetsMetadata(about, await Promise.all(own), keys, sectionsIn(after));
}

/** Whether all in a bin could be documents of a site: no other path is shown as it would be read. */
function namesDocuments(list: TargetsMetadata): boolean {
  return list.targetPaths().every((target) => {
    return problemOfFile(documentPathOfHead(target) ?? `/${target}`) === undefined;
  });
}

function binContent(about: { readonly version: number; readonly expires: number }, after: TargetsMetadata): TufObject {
  const targets = after.targetPaths().flatMap((path): [string, TufObject][] => {
    const info = after.target(path);
    if (info === undefined) return [];
    const document = documentPathOfHead(path);
    const plain = { hashes: { sha256: info.sha256 }, length: info.length };
    return [[path, document === undefined ? plain : encodeDocumentTarget(documentEntryOf(info, document))]];
  });
  return binMetadata(about, targets);
}

/**
 * What other clients of TUF are given under a document's name is its content, and nothing where it is encrypted, or where there is no document:
 * that is seen where the list that its head would be in is signed too.
 */
async function contentsFit({ draft: { roles }, bits }: Checked): Promise<boolean> {
  const contents = new Map<string, string>();
  const heads = new Map<string, string | undefined>();
  for (const { name, after } of roles.filter((role) => isNameOfBin(role.name))) {
    for (const target of after.targetPaths()) {
      const [info, path] = [after.target(target), documentPathOfHead(target)];
      if (info === undefined) throw new TypeError(`${name} does not say what it names`);
      if (path === undefined) contents.set(`/${target}`, info.sha256);
      else heads.set(path, documentEntryOf(info, path).content);
    }
  }
  const names = new Set(roles.map(({ name }) => name));
  for (const [path, content] of contents) {
    if (heads.has(path) && heads.get(path) !== content) return false;
    if (!heads.has(path) && names.has(binName(binIndex(await pathHashOf(headTargetOf(path)), bits), bits)))
      return false;
  }
  return true;
}

export function isNameOfBin(name: string): boolean {
  return name.startsWith(`${DOCUMENTS_ROLE}-`);
}

/** The sections that `targets` delegates to, in their order. */
export function sectionsIn({ delegations, keys }: TargetsMetadata): SectionKeys[] {
  return delegations
    .filter(({ name }) => name !== DOCUMENTS_ROLE)
    .map(({ name, paths = [], keyids, threshold }) => {
      const publicKeys = keyids.flatMap((keyid) => fromHex(keys.get(keyid)?.public, 32) ?? []);
      return { name, paths, publicKeys, threshold };
    });
}
