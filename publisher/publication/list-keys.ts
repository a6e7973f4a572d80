/** The listing of `wispr keys list`: every role and set, where its key is, and when it ends. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type KeyId, keyIdOf } from '../../core/crypto/key-id.ts';
import { CodedError } from '../../core/errors.ts';
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import type { Delegation, RootMetadata, TopLevelRole } from '../../core/publication/metadata.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { outcomeOf } from '../keys/change-sections.ts';
import { type Invitation, type OpenKeyStore, openKeyStore } from '../keys/key-store.ts';
import { TOP_LEVEL_ROLES, verifyChain } from '../keys/roots.ts';
import { openSigningKeysIfOurs } from '../keys/signing-keys.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';
import { readKeyStore, type Workspace, workspaceOf } from '../workspace/workspace.ts';
import { expiriesOf, type RoleState } from './roles.ts';
import { openShown, openSnapshot, type ShownPublication } from './signed.ts';
import { metadataIn } from './sources.ts';

/** Prefix of the name of a section where roles are named. */
export const SECTION_PREFIX = 'section:';

/** Place of the private part of a key, as far as can be known from here. */
export type KeyFileName = 'publisher.keys' | 'root.keys' | 'elsewhere' | 'unknown';

export interface ListedKey {
  readonly keyid: string;
  readonly place: KeyFileName;
  /** Tells whether the next key bundle hands it to the key server. */
  readonly atKeyServer: boolean;
}

export interface ListedRole {
  /** A top-level role, or `section:` and the name of a section. */
  readonly role: string;
  readonly threshold: number;
  readonly keys: readonly ListedKey[];
}

export interface KeyListing {
  readonly rootId: KeyId;
  readonly rootVersion: number;
  readonly publishedRoot: number | undefined;
  readonly roles: readonly ListedRole[];
  /** Expiries of the last root, and of what is published. */
  readonly expiries: readonly RoleState[];
  readonly publication: number | undefined;
  readonly closed: boolean;
  /** Files of roots beside `wispr.json` that need signatures of others. */
  readonly waiting: readonly string[];
  /** Reason why nothing can be said about what is published. */
  readonly problem: string | undefined;
  /** Facts that only the key store knows; `undefined` without the passphrase. */
  readonly secret: SecretListing | undefined;
}

/** Readers with a key file, without the secret of the link. */
type Invited = { readonly [Name in 'name' | 'sets' | 'until']: Invitation[Name] };

export interface SecretListing {
  readonly publisherKey: KeyId;
  readonly sets: readonly { readonly name: string; readonly id: KeyId; readonly since: number }[];
  readonly invitations: readonly Invited[];
}

interface LocalKeys {
  readonly keyStore: OpenKeyStore;
  readonly rootKeys: readonly string[];
  readonly timestampAtKeyServer: boolean;
  readonly sections: readonly string[];
}

const ROOT_DRAFT = /^root\.([1-9]\d{0,15})\.json$/;

/**
 * @param passphrase - without it, what the published metadata say
 * @throws PublishError, PublicationError
 */
export async function listKeys(
  configurationFile: string,
  passphrase: string | undefined,
  rootKeysFile?: string,
): Promise<KeyListing> {
  const workspace = workspaceOf(configurationFile);
  const { out, timestampBy, sections } = await readConfiguration(configurationFile);
  const directory = join(workspace.directory, out, METADATA_PATH);
  const known = passphrase === undefined ? undefined : await openKnown(workspace, passphrase, rootKeysFile);
  const { published, problem } = known
    ? await readIfGood(directory, known.keyStore.rootId)
    : { published: await readPublished(directory), problem: undefined };
  const root = known ? await verifyChain(known.keyStore.roots) : published?.roots[0];
  if (root === undefined) throw new Error('either is known');
  const { version, expires } = root;
  const all = known && {
    ...known,
    timestampAtKeyServer: timestampBy === 'keyserver',
    sections: sections.map(({ name }) => name),
  };
  const drafts = (await readdir(workspace.directory)).filter(
    (name) => Number(ROOT_DRAFT.exec(name)?.[1] ?? 0) > version,
  );
  return {
    rootId: known?.keyStore.rootId ?? published?.rootId ?? '',
    rootVersion: version,
    publishedRoot: published?.roots[0].version,
    roles: [
      ...TOP_LEVEL_ROLES.map((role) => listRole(role, root, all)),
      ...(all ? await listSections(all) : (published?.sections ?? []).map(publishedSection)),
    ],
    expiries: [
      { role: 'root', version, expires },
      ...(published?.expiries ?? []).filter(({ role }) => role !== 'root'),
    ],
    publication: published?.snapshot.file.version,
    closed: published?.snapshot.snapshot.closed ?? false,
    waiting: drafts,
    problem,
    secret: known && (await listSecrets(known.keyStore)),
  };
}

/** Opens the keys. The root keys may be elsewhere, or under another passphrase: then they are not here. */
async function openKnown(
  workspace: Workspace,
  passphrase: string,
  rootKeysFile = workspace.rootKeys,
): Promise<Pick<LocalKeys, 'keyStore' | 'rootKeys'>> {
  const keyStore = await openKeyStore(await readKeyStore(workspace), passphrase);
  const keys = await openSigningKeysIfOurs(rootKeysFile, passphrase);
  return { keyStore, rootKeys: keys?.signers.map(({ keyid }) => keyid) ?? [] };
}

interface Published extends ShownPublication {
  readonly sections: readonly Delegation[];
  readonly expiries: readonly RoleState[];
}

async function readPublished(directory: string, rootId?: KeyId): Promise<Published> {
  const place = metadataIn(directory);
  const shown = await openShown(place, directory, rootId);
  const publication = await openSnapshot(shown.snapshot, place, shown.roots);
  const { version, expires } = shown.timestamp;
  return {
    ...shown,
    sections: publication.state.targets.delegations.filter(({ name }) => name !== DOCUMENTS_ROLE),
    expiries: [...(await expiriesOf(publication)), { role: 'timestamp', version, expires }],
  };
}

/** Reads the published state, which may be missing or damaged: the keys are listed all the same. */
async function readIfGood(
  directory: string,
  rootId: KeyId,
): Promise<{ published?: Published; problem: string | undefined }> {
  try {
    return { published: await readPublished(directory, rootId), problem: undefined };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { problem: error.code === 'publication-missing' ? undefined : error.message };
  }
}

function listRole(role: TopLevelRole, root: RootMetadata, known: LocalKeys | undefined): ListedRole {
  const { keyids, threshold } = root.roles[role];
  return { role, threshold, keys: keyids.map((keyid) => listKey(role, keyid, known)) };
}

function listKey(role: TopLevelRole, keyid: string, known: LocalKeys | undefined): ListedKey {
  if (known === undefined) return { keyid, place: 'unknown', atKeyServer: false };
  const { keyStore, rootKeys, timestampAtKeyServer } = known;
  if (role === 'root')
    return { keyid, place: rootKeys.includes(keyid) ? 'root.keys' : 'elsewhere', atKeyServer: false };
  const isOurs = keyStore.signers[role].keyid === keyid;
  return {
    keyid,
    place: isOurs ? 'publisher.keys' : 'elsewhere',
    atKeyServer: isOurs && role === 'timestamp' && timestampAtKeyServer,
  };
}

/** Lists those that the next publication will have. */
function listSections({ keyStore, sections }: LocalKeys): Promise<ListedRole[]> {
  return Promise.all(
    sections.map(async (name) => {
      const ring = keyStore.contents.sections.get(name);
      const { keyids, threshold, own } = ring
        ? await outcomeOf(name, ring)
        : { keyids: [], threshold: 1, own: undefined };
      const keys = keyids.map((keyid): ListedKey => {
        return { keyid, place: keyid === own ? 'publisher.keys' : 'elsewhere', atKeyServer: false };
      });
      return { role: SECTION_PREFIX + name, threshold, keys };
    }),
  );
}

function publishedSection({ name, keyids, threshold }: Delegation): ListedRole {
  const keys = keyids.map((keyid): ListedKey => ({ keyid, place: 'unknown', atKeyServer: false }));
  return { role: SECTION_PREFIX + name, threshold, keys };
}

async function listSecrets({ publisher, contents }: OpenKeyStore): Promise<SecretListing> {
  const sets = Array.from(contents.sets, async ([name, key]) => {
    return { name, id: await keyIdOf('set', key), since: contents.setsSince.get(name) ?? 0 };
  });
  const invitations = contents.invitations.map(({ name, sets, until }) => ({ name, sets, until }));
  return { publisherKey: publisher.id, sets: await Promise.all(sets), invitations };
}
