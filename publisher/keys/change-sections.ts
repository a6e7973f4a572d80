/**
 * `wispr keys … section:NAME`: who signs for a section. The keys stand in `publisher.keys`; readers learn of them from the role `targets`, so
 * a change takes effect with the next `wispr protect`, and needs no new root.
 */
import { ed25519KeyPair, randomBytes } from '#primitives';
import { KEY_LENGTH } from '../../core/crypto/key-id.ts';
import { tufKeyId } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { PublishError } from '../errors.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';
import { readKeyStore, withLock, workspaceOf } from '../workspace/workspace.ts';
import type { KeysOptions } from './change-roots.ts';
import { replaceFile } from './file-update.ts';
import { freshRing, type OpenKeyStore, openKeyStore, type SectionKeyRing } from './key-store.ts';
import { checkEnough, findKeyId, refused, withKey, withoutKeys, withThreshold } from './roots.ts';

export interface SectionOutcome {
  readonly section: string;
  readonly keyids: readonly string[];
  readonly threshold: number;
  /** The one of {@link keyids} that is in `publisher.keys`. */
  readonly own: string | undefined;
}

/** Keys of all sections together: those of `targets` stand in the same list. */
const MOST_KEYS = PUBLICATION_LIMITS.keys * 0.75;

/** Gives a section a new key in place of the one that is in `publisher.keys`. Keys of others stay. */
export function rotateSection(options: KeysOptions, section: string): Promise<SectionOutcome> {
  return changeSection(options, section, async (ring) => {
    const { own } = await outcomeOf(section, ring);
    if (own === undefined)
      throw refused(`no key of ${section} is in publisher.keys: its editors make a new one, for "wispr keys add"`);
    const seed = randomBytes(KEY_LENGTH);
    return { ...(await withKey(await withoutKeys(ring, [own]), section, ed25519KeyPair(seed).publicKey)), seed };
  });
}

export function addSectionSigner(
  options: KeysOptions,
  section: string,
  publicKey: Uint8Array,
  threshold?: number,
): Promise<SectionOutcome> {
  return changeSection(options, section, async (ring) =>
    withThreshold(await withKey(ring, section, publicKey), threshold),
  );
}

/**
 * Removes a key from a section; the workspace's own too, so that only other signers can sign for it.
 *
 * @param text - the key id, or the beginning of it
 */
export function removeSectionSigner(
  options: KeysOptions,
  section: string,
  text: string,
  threshold?: number,
): Promise<SectionOutcome> {
  return changeSection(options, section, async (ring) => {
    const { keyids, own } = await outcomeOf(section, ring);
    const found = findKeyId(keyids, section, text);
    const { seed, ...rest } = withThreshold(await withoutKeys(ring, [found]), threshold);
    return { ...rest, ...(seed && own !== found && { seed }) };
  });
}

async function changeSection(
  { configurationFile, passphrase }: KeysOptions,
  section: string,
  change: (ring: SectionKeyRing) => Promise<SectionKeyRing>,
): Promise<SectionOutcome> {
  const workspace = workspaceOf(configurationFile);
  const { sections } = await readConfiguration(workspace.configuration);
  return withLock(workspace, async () => {
    const keyStore = await openKeyStore(await readKeyStore(workspace), passphrase);
    const known = keyStore.contents.sections.get(section);
    if (!known && !sections.some(({ name }) => name === section)) throw unknown(section, sections);
    const ring = await change(known ?? freshRing());
    checkRing(section, ring, keyStore);
    const changed = new Map([...keyStore.contents.sections, [section, ring] as const]);
    await replaceFile(workspace.keyStore, await keyStore.seal({ ...keyStore.contents, sections: changed }));
    return outcomeOf(section, ring);
  });
}

function checkRing(section: string, ring: SectionKeyRing, { contents }: OpenKeyStore): void {
  checkEnough(section, ring);
  const others = [...contents.sections].filter(([name]) => name !== section);
  const all = others.reduce((sum, [, { publicKeys }]) => sum + publicKeys.length, ring.publicKeys.length);
  if (all > MOST_KEYS) throw refused(`all sections together would have ${all} keys, and readers take ${MOST_KEYS}`);
}

export async function outcomeOf(
  section: string,
  { publicKeys, threshold, seed }: SectionKeyRing,
): Promise<SectionOutcome> {
  const keyids = await Promise.all(publicKeys.map(tufKeyId));
  const own = seed && (await tufKeyId(ed25519KeyPair(seed).publicKey));
  return { section, keyids, threshold, own };
}

function unknown(section: string, sections: readonly { readonly name: string }[]): PublishError {
  const names = sections.map(({ name }) => name).join(', ');
  return refused(`wispr.json names no section ${JSON.stringify(section)}${names && `, only ${names}`}`);
}
