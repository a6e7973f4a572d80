/**
 * A publication that waits for signatures of `targets`, `publication.N.draft`: the metadata files that they are to become, what the same keys
 * signed before, so that signers see what changes, and the roots. It is no secret. Everything in it is checked before anything is shown or signed.
 *
 *   {"wispr":"publication draft 1","chain":[base64url of 1.root.json …],"descriptor":…,"settings":…,
 *    "filesBefore":[{"name":target path,"file":base64url}…],"before":[{"name":…,"file":base64url}…],"roles":[{"name":…,"file":base64url of the envelope}…]}
 */
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { equalBytes, fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { hasMembers, isJsonObject, type Json } from '../../core/encoding/canonical-json.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { tufCanonical } from '../../core/publication/canonical.ts';
import { checkSignatures, encodeEnvelope, openEnvelope } from '../../core/publication/envelope.ts';
import { countSigners, type RoleSigner, type TufSignature, verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { parseTargets, type RootMetadata, type TargetsMetadata } from '../../core/publication/metadata.ts';
import { rootIdOf, signMessage } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { checkSaysOnlyWhatIsShown } from './publication-draft-check.ts';
import { MAXIMUM_DRAFT_FILE } from './read-draft.ts';
import { verifyChain } from './roots.ts';

/** How it begins; no root that waits for signatures does. */
const START = '{"wispr":"publication draft 1",';

/** A metadata file that waits for signatures. */
export interface DraftRole {
  readonly name: string;
  /** What is signed. */
  readonly message: Uint8Array;
  /** Good ones only, one of each key. */
  readonly signatures: readonly TufSignature[];
  /** What it says. */
  readonly after: TargetsMetadata;
}

/** What a draft is made of. */
export interface DraftParts {
  /** All roots, byte for byte. */
  readonly chain: readonly Uint8Array[];
  readonly descriptor: Uint8Array;
  readonly settings: Uint8Array;
  /** Descriptor and settings that the earlier `targets` named, as far as they are other than now, by target path. */
  readonly filesBefore: ReadonlyMap<string, Uint8Array>;
  /** Metadata files that the last root's keys for `targets` signed earlier, by role. */
  readonly before: ReadonlyMap<string, Uint8Array>;
  readonly roles: readonly Pick<DraftRole, 'name' | 'message' | 'signatures'>[];
}

/** A publication that waits for signatures. */
export interface PublicationDraft extends DraftParts {
  readonly root: RootMetadata;
  readonly rootId: string;
  /** Of every role in it. */
  readonly version: number;
  readonly expires: number;
  readonly roles: readonly DraftRole[];
  /** What {@link before} says. */
  readonly earlier: ReadonlyMap<string, TargetsMetadata>;
}

/** @throws PublishError `draft-malformed`, PublicationError */
export async function makePublicationDraft(parts: DraftParts): Promise<PublicationDraft> {
  const root = verifyChain(parts.chain);
  const [first = new Uint8Array(0)] = parts.chain;
  const roles = parts.roles.map((role) => {
    const bytes = encodeEnvelope([], role.message);
    const after = parseTargets(openEnvelope(bytes, role.name, PUBLICATION_LIMITS.targetsLength).signed(), role.name);
    return { ...role, signatures: goodSignatures(root, role.message, role.signatures), after };
  });
  const [
    {
      after: { version, expires },
    } = never(),
  ] = roles;
  const earlier = new Map(
    Array.from(parts.before, ([name, bytes]) => {
      const found = earlierRole(root, name, bytes);
      if (found === undefined || found.version >= version) throw malformed();
      return [name, found] as const;
    }),
  );
  const draft = { ...parts, root, rootId: await rootIdOf(first), version, expires, roles, earlier };
  if (!(await checkSaysOnlyWhatIsShown(draft))) throw malformed();
  return draft;
}

/**
 * What a file says that the keys of `targets` signed, as many as have to, in the form in which it is signed here, so that it has one digest;
 * `undefined` if they did not.
 */
export function earlierRole(root: RootMetadata, name: string, bytes: Uint8Array): TargetsMetadata | undefined {
  try {
    const envelope = openEnvelope(bytes, name, PUBLICATION_LIMITS.targetsLength);
    const signed = checkSignatures(envelope, name, root.roles.targets, root.keys, verifyEd25519).signed();
    return equalBytes(tufCanonical(signed), envelope.message) ? parseTargets(signed, name) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a file is meant to be such a draft. */
export function isPublicationDraft(bytes: Uint8Array): boolean {
  return fromUtf8(bytes.subarray(0, START.length)) === START;
}

/** The bytes of `publication.N.draft`. */
export function encodePublicationDraft({
  chain,
  descriptor,
  settings,
  filesBefore,
  before,
  roles,
}: DraftParts): Uint8Array {
  const rest = {
    chain: chain.map(toBase64url),
    descriptor: toBase64url(descriptor),
    settings: toBase64url(settings),
    filesBefore: Array.from(filesBefore, namedFile),
    before: Array.from(before, namedFile),
    roles: roles.map(({ name, signatures, message }) => {
      return { name, file: toBase64url(encodeEnvelope(signatures, message)) };
    }),
  };
  return utf8(`${START}${JSON.stringify(rest).slice(1)}\n`);
}

/** @throws PublishError `draft-malformed` */
export async function parsePublicationDraft(bytes: Uint8Array): Promise<PublicationDraft> {
  try {
    if (bytes.length > MAXIMUM_DRAFT_FILE || !isPublicationDraft(bytes)) throw malformed();
    const value = JSON.parse(fromUtf8(bytes) ?? '') as Json;
    const members = ['wispr', 'chain', 'descriptor', 'settings', 'filesBefore', 'before', 'roles'];
    if (!isJsonObject(value) || !hasMembers(value, members)) throw malformed();
    const chain = listOf(value.chain, PUBLICATION_LIMITS.rootRotations).map(bytesOf);
    const most = 2 ** PUBLICATION_LIMITS.binBits + 2;
    const roles = listOf(value.roles, most).map((each) => {
      const [name, file] = fileOf(each);
      const { message, signatures } = openEnvelope(file, name, PUBLICATION_LIMITS.targetsLength);
      return { name, message, signatures };
    });
    const filesBefore = filesIn(value.filesBefore, most);
    const before = filesIn(value.before, most);
    if (hasTwice(roles.map(({ name }) => name))) throw malformed();
    const [descriptor, settings] = [bytesOf(value.descriptor), bytesOf(value.settings)];
    return await makePublicationDraft({ chain, descriptor, settings, filesBefore, before, roles });
  } catch (error) {
    throw error instanceof PublishError ? error : malformed(error);
  }
}

/** A draft with those signatures of a copy of it that it does not have yet. */
export function mergeDrafts(draft: PublicationDraft, copy: PublicationDraft): PublicationDraft {
  const signatures = new Map(copy.roles.map((role) => [role.name, role.signatures]));
  return withMore(draft, ({ name }) => signatures.get(name) ?? []);
}

/** A draft with the signatures of those of `signers` that may sign it. */
export function signPublicationDraft(draft: PublicationDraft, signers: readonly RoleSigner[]): PublicationDraft {
  return withMore(draft, ({ message, signatures }) =>
    signers
      .filter(({ keyid }) => maySignPublication(draft, keyid) && signatures.every((one) => one.keyid !== keyid))
      .map((signer) => signMessage(message, signer)),
  );
}

/** Whether a key is one of those of `targets`. */
export function maySignPublication({ root }: PublicationDraft, keyid: string): boolean {
  return root.roles.targets.keyids.includes(keyid);
}

/** Key ids whose signatures every file of it has. */
export function signersOfDraft({ roles: [first, ...rest] }: PublicationDraft): string[] {
  const keyids = first?.signatures.map(({ keyid }) => keyid) ?? [];
  return keyids.filter((keyid) => rest.every(({ signatures }) => signatures.some((one) => one.keyid === keyid)));
}

/** How many signatures it lacks: of its files, that which lacks most. One key counts once. */
export function missingOfPublication({ root, roles }: PublicationDraft): number {
  const { threshold } = root.roles.targets;
  const counts = roles.map(({ message, signatures }) => {
    return countSigners(signatures, message, root.roles.targets, root.keys, verifyEd25519);
  });
  return threshold - Math.min(...counts);
}

/** Whether two drafts are of the same publication, whoever has signed them. */
export function samePublication(a: Pick<DraftParts, 'roles'>, b: Pick<DraftParts, 'roles'>): boolean {
  return (
    a.roles.length === b.roles.length &&
    a.roles.every(({ name, message }, index) => {
      const other = b.roles[index];
      return other !== undefined && other.name === name && equalBytes(other.message, message);
    })
  );
}

/** By which the very same publication is known again, whoever has signed it. */
export async function digestOfPublication({ version, expires, roles }: PublicationDraft): Promise<string> {
  const digests = await Promise.all(roles.map(async ({ name, message }) => [name, await hexDigest(message)]));
  return hexDigest(utf8(JSON.stringify([version, expires, digests])));
}

function withMore(draft: PublicationDraft, more: (role: DraftRole) => readonly TufSignature[]): PublicationDraft {
  const roles = draft.roles.map((role) => {
    const signatures = goodSignatures(draft.root, role.message, [...role.signatures, ...more(role)]);
    return { ...role, signatures };
  });
  return { ...draft, roles };
}

/** One of each key of `targets`, and good. */
function goodSignatures(
  { roles, keys }: RootMetadata,
  message: Uint8Array,
  signatures: readonly TufSignature[],
): TufSignature[] {
  const good: TufSignature[] = [];
  for (const { keyid, sig } of signatures) {
    const one = { ...roles.targets, threshold: 1 };
    if (good.some((other) => other.keyid === keyid)) continue;
    if (countSigners([{ keyid, sig }], message, one, keys, verifyEd25519) === 1) good.push({ keyid, sig });
  }
  return good;
}

function namedFile([name, bytes]: readonly [string, Uint8Array]): { name: string; file: string } {
  return { name, file: toBase64url(bytes) };
}

function fileOf(value: Json): [name: string, file: Uint8Array] {
  if (!isJsonObject(value) || !hasMembers(value, ['name', 'file']) || typeof value.name !== 'string') throw malformed();
  return [value.name, bytesOf(value.file)];
}

function filesIn(value: Json | undefined, most: number): Map<string, Uint8Array> {
  const files = listOf(value, most).map(fileOf);
  return hasTwice(files.map(([name]) => name)) ? never() : new Map(files);
}

function bytesOf(value: Json | undefined): Uint8Array {
  return fromBase64url(value) ?? never();
}

function listOf(value: Json | undefined, most: number): Json[] {
  return Array.isArray(value) && value.length <= most ? value : never();
}

function hasTwice(names: readonly string[]): boolean {
  return new Set(names).size < names.length;
}

function never(): never {
  throw malformed();
}

function malformed(cause?: unknown): PublishError {
  return new PublishError('draft-malformed', 'this is not a publication that waits for signatures, or it was altered', {
    cause,
    hint: 'let the publisher send publication.N.draft again, as "wispr protect" wrote it',
  });
}
