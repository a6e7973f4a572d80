/** The site settings that were trusted last, as they are kept over a restart: they may be newer than the state beside them. */
import { sha256 } from '#primitives';
import { concat } from '../encoding/bytes.ts';
import { hexDigest } from '../encoding/digest.ts';
import { toHex } from '../encoding/hex.ts';
import { parseSettings, type SiteSettings } from './settings.ts';
import type { MetadataStore } from './sources.ts';
import { readStored } from './trusted-state.ts';

export interface StoredSettings {
  /** SHA-256 (hexadecimal) of their file. */
  readonly hash: string;
  readonly value: SiteSettings;
}

const NAME = 'wispr:settings';
const HASH_LENGTH = 32;

/** Their file, as it was kept; `undefined` where there is none. */
export async function readSettingsFile(store: MetadataStore): Promise<Uint8Array | undefined> {
  return (await store.read(NAME))?.subarray(HASH_LENGTH);
}

/** `undefined` where there are none, or they were damaged: their hash stands before them. */
export async function readSettings(store: MetadataStore): Promise<StoredSettings | undefined> {
  const kept = await readStored(store, NAME, async (bytes) => {
    const settings = bytes.subarray(HASH_LENGTH);
    const hash = await hexDigest(settings);
    return toHex(bytes.subarray(0, HASH_LENGTH)) === hash ? { hash, value: parseSettings(settings) } : undefined;
  });
  return kept?.role;
}

/**
 * @param bytes - their file, which the publication names
 * @throws PublicationError where they are malformed; then nothing is kept
 */
export async function storeSettings(store: MetadataStore, bytes: Uint8Array): Promise<StoredSettings> {
  const value = parseSettings(bytes);
  const hash = await sha256(bytes);
  await store.write(NAME, concat(hash, bytes));
  return { hash: toHex(hash), value };
}
