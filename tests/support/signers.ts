/** A publication that several people have to sign, each with a key file of their own, in one directory; and one of them who cheats. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { binFor, pathHashOf } from '../../core/publication/bins.ts';
import { type TufObject, tufCanonical } from '../../core/publication/canonical.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { DESCRIPTOR_TARGET, METADATA_PATH, SETTINGS_TARGET } from '../../core/publication/names.ts';
import { fileTarget, type SectionKeys, signMetadata, targetsMetadata } from '../../core/publication/writer.ts';
import { addSigner } from '../../publisher/keys/change-roles.ts';
import { readWaitingFile, reviewForSigner, signPublicationFile } from '../../publisher/keys/gather-publication.ts';
import { openSigners } from '../../publisher/keys/open-signers.ts';
import {
  type DraftParts,
  encodePublicationDraft,
  type PublicationDraft,
} from '../../publisher/keys/publication-draft.ts';
import { rolesOf } from '../../publisher/keys/roots.ts';
import { createSigner, readSigner } from '../../publisher/keys/signer-file.ts';
import { CHEAP } from './cheap-keys.ts';
import { PASSPHRASE, type TestWorkspace } from './workspace.ts';

export const THEIRS = 'quite another passphrase';

/** How a draft is refused that shows other than is signed, and one that goes back behind what the signer has seen. */
export const REFUSED = { code: 'draft-malformed' };
export const BEHIND = { code: 'draft-rolled-back' };

/** The bin of a target, of a small site. */
export async function binOf(target: string): Promise<string> {
  return binFor(await pathHashOf(target), { bits: 2, namePrefix: 'documents', keyids: [], threshold: 2 });
}

/** Parts of a draft as somebody else would have them. */
export type Altered = Partial<DraftParts>;

export class Signers {
  readonly workspace: TestWorkspace;

  private constructor(workspace: TestWorkspace) {
    this.workspace = workspace;
  }

  static async in(workspace: TestWorkspace, names: readonly string[]): Promise<Signers> {
    const signers = new Signers(workspace);
    for (const name of names) await createSigner(signers.key(name), THEIRS, CHEAP);
    return signers;
  }

  at(name: string): string {
    return join(this.workspace.directory, name);
  }

  key(name: string): string {
    return this.at(`${name}.key`);
  }

  /** Lets somebody sign `targets`, and makes another number of signatures necessary. */
  async add(name: string, threshold?: number): Promise<void> {
    const options = { configurationFile: this.workspace.configurationFile, passphrase: PASSPHRASE };
    await addSigner(options, 'targets', await readSigner(`${this.key(name)}.pub`), threshold);
  }

  /** The draft that a run leaves. */
  async leave(): Promise<PublicationDraft> {
    const error = await this.workspace
      .protect()
      .catch((thrown: unknown) => thrown as { code: string; message: string });
    const version = /publication (\d+) still lacks/.exec('message' in error ? error.message : '')?.[1];
    if (version === undefined) throw new Error(`no draft was left: ${JSON.stringify(error)}`);
    return this.read(`publication.${version}.draft`);
  }

  async read(name: string): Promise<PublicationDraft> {
    const { kind, draft } = await readWaitingFile(this.at(name));
    if (kind !== 'publication') throw new Error('this is a root');
    return draft;
  }

  /** What somebody is shown. */
  review(draft: PublicationDraft, name: string) {
    return reviewForSigner(draft, this.key(name));
  }

  async sign(name: string, who: string) {
    const shown = await this.review(await this.read(name), who);
    return signPublicationFile(this.at(name), shown, this.key(who), THEIRS);
  }

  /** A publication that these sign too. */
  async publish(...names: string[]): Promise<number> {
    const { version } = await this.leave();
    for (const who of names) await this.sign(`publication.${version}.draft`, who);
    await this.workspace.protect();
    return version;
  }

  /** A draft with other parts, as the signer's machine reads it. */
  async forge(draft: PublicationDraft, altered: Altered, name = 'forged.draft'): Promise<PublicationDraft> {
    await rm(this.at(name), { force: true });
    await writeFile(this.at(name), encodePublicationDraft({ ...draft, ...altered }));
    return this.read(name);
  }

  /** The key for `targets` that is in `publisher.keys`. */
  async own(): Promise<RoleSigner> {
    return (await this.workspace.keyStore()).signers.targets;
  }

  /** What one of them, and the publisher's own key, have signed at some time. */
  async signedBy(name: string, content: TufObject): Promise<Uint8Array> {
    return signMetadata(content, [await this.own(), ...(await openSigners([this.key(name)], async () => THEIRS))]);
  }

  metadata(file: string): string {
    return join(this.workspace.out, METADATA_PATH, file);
  }

  /** What was published of a role. */
  base(role: string, version: number): Promise<Buffer> {
    return readFile(this.metadata(`${version}.${role}.json`));
  }
}

/** A role to be signed. */
export function toSign(name: string, content: TufObject): DraftParts['roles'][number] {
  return { name, message: tufCanonical(content), signatures: [] };
}

/** The roles of a draft, with some of them otherwise. */
export function otherwise(
  { roles }: PublicationDraft,
  change: Readonly<Record<string, (content: TufObject) => TufObject>>,
): DraftParts['roles'] {
  return roles.map((role) => {
    const alter = change[role.name];
    return alter ? toSign(role.name, alter(contentOf(role.message))) : role;
  });
}

/** What a message says. */
export function contentOf(message: Uint8Array): TufObject {
  return JSON.parse(fromUtf8(message) ?? '') as TufObject;
}

/** All roles of a draft, in another version. */
export function later({ roles }: PublicationDraft, version: number) {
  return Object.fromEntries(roles.map(({ name }) => [name, (content: TufObject) => ({ ...content, version })]));
}

/** The role `targets` of a draft, for other settings, sections or keys. */
export async function targetsOf(
  { version, expires, root, descriptor }: PublicationDraft,
  settings: Uint8Array,
  sections: readonly SectionKeys[] = [],
): Promise<TufObject> {
  const own: [string, TufObject][] = [
    [DESCRIPTOR_TARGET, await fileTarget(descriptor)],
    [SETTINGS_TARGET, await fileTarget(settings)],
  ];
  return targetsMetadata({ version, expires }, own, rolesOf(root).targets, sections);
}
