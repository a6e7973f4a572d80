/** What becomes of site settings and descriptor, member by member, for the signers of a publication. */
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { isJsonObject, type Json } from '../../core/encoding/canonical-json.ts';
import { keyIdOf } from '../../core/keys/key-id.ts';
import { DESCRIPTOR_TARGET, SETTINGS_TARGET } from '../../core/publication/names.ts';
import { parseSettings } from '../../core/publication/settings.ts';
import type { PublicationDraft } from './publication-draft.ts';
import { inForce } from './publication-draft-check.ts';

/** A member that is otherwise than before. */
export interface MemberChange {
  readonly member: string;
  /** `undefined` if it was not there. */
  readonly before: string | undefined;
  /** `undefined` if it is not there any more. */
  readonly now: string | undefined;
}

export interface FileChanges {
  /** Whether what it was before is known; otherwise all of it counts as new. */
  readonly compared: boolean;
  readonly members: readonly MemberChange[];
}

type Members = ReadonlyMap<string, string>;

/** `undefined` if the settings stay as they were. */
export function settingsChanges(draft: PublicationDraft): FileChanges | undefined {
  return changesOf(draft, SETTINGS_TARGET, draft.settings, membersOfSettings);
}

/** `undefined` if the descriptor stays as it was. */
export async function descriptorChanges(draft: PublicationDraft): Promise<FileChanges | undefined> {
  const changes = changesOf(draft, DESCRIPTOR_TARGET, draft.descriptor, membersOfDescriptor);
  return changes && { ...changes, members: await Promise.all(changes.members.map(withKeyId)) };
}

/** Of the publisher key people see the id everywhere else, and compare it by voice. */
async function withKeyId(change: MemberChange): Promise<MemberChange> {
  if (change.member !== 'publisherKey') return change;
  return { ...change, before: await idIn(change.before), now: await idIn(change.now) };
}

async function idIn(value: string | undefined): Promise<string | undefined> {
  const key = value && fromBase64url(JSON.parse(value), 32);
  return key ? JSON.stringify(await keyIdOf('publisher', key)) : value;
}

function changesOf(
  draft: PublicationDraft,
  target: string,
  bytes: Uint8Array,
  membersOf: (bytes: Uint8Array) => Members,
): FileChanges | undefined {
  const hash = draft.earlier.get('targets')?.target(target)?.sha256;
  if (hash !== undefined && hash === inForce(draft, 'targets')?.target(target)?.sha256) return undefined;
  const old = draft.filesBefore.get(target);
  const [before, now] = [old ? membersOf(old) : new Map<string, string>(), membersOf(bytes)];
  const all = [...new Set([...before.keys(), ...now.keys()])].sort();
  const members = all.map((member) => ({ member, before: before.get(member), now: now.get(member) }));
  return { compared: old !== undefined, members: members.filter((one) => one.before !== one.now) };
}

function membersOfSettings(bytes: Uint8Array): Members {
  const { redirects, ...rest } = parseSettings(bytes);
  return new Map([
    ...Object.entries(rest).map(([name, value]) => [name, JSON.stringify(value)] as const),
    ...redirects.map(
      ({ from, status, to }) => [`redirect ${JSON.stringify(from)}`, `${status} ${JSON.stringify(to)}`] as const,
    ),
  ]);
}

function membersOfDescriptor(bytes: Uint8Array): Members {
  return new Map(leavesOf(JSON.parse(fromUtf8(bytes) ?? '') as Json, ''));
}

/** `sites.0.content.0` and the like. */
function leavesOf(value: Json, name: string): [string, string][] {
  if (!Array.isArray(value) && !isJsonObject(value)) return [[name, JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, one]) => leavesOf(one as Json, name === '' ? key : `${name}.${key}`));
}
