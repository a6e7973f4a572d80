/** A publication without documents, signed with a workspace's own keys: what `wispr timestamp` and `wispr keys list` look at. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { binName } from '../../core/publication/bins.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import {
  binMetadata,
  documentsMetadata,
  type FileFacts,
  factsOf,
  signMetadata,
  snapshotMetadata,
  targetsMetadata,
  timestampMetadata,
} from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { OpenKeyStore } from '../../publisher/keys/key-store.ts';

const DAY = 86_400;

export interface SmallPublication {
  readonly version?: number;
  /** Days from now until each role expires. */
  readonly days?: { readonly targets?: number; readonly bins?: number; readonly snapshot?: number };
  /** When the timestamp is signed; now, if left out. */
  readonly signed?: number;
}

/** Writes the metadata of a publication with two bins into a directory. */
export async function writeSmallPublication(
  directory: string,
  { roots, signers: { targets, snapshot, timestamp } }: Pick<OpenKeyStore, 'roots' | 'signers'>,
  { version = 1, days = {}, signed = nowInSeconds() }: SmallPublication = {},
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const put = (name: string, bytes: Uint8Array) => writeFile(join(directory, name), bytes);
  for (const [index, bytes] of roots.entries()) await put(metadataFile('root', index + 1), bytes);
  const facts = new Map<string, FileFacts>();
  const sign = async (role: string, content: TufObject, signer: RoleSigner) => {
    const bytes = signMetadata(content, [signer]);
    await put(metadataFile(role, version), bytes);
    facts.set(role, await factsOf(version, bytes));
  };
  const until = (number = 400) => ({ version, expires: nowInSeconds() + number * DAY });
  const keys = { publicKeys: [targets.publicKey], threshold: 1 };
  for (const bin of [0, 1]) await sign(binName(bin, 1), binMetadata(until(days.bins), []), targets);
  await sign('documents', await documentsMetadata(until(), 1, keys), targets);
  await sign('targets', await targetsMetadata(until(days.targets), [], keys), targets);
  await sign('snapshot', snapshotMetadata(until(days.snapshot), facts), snapshot);
  const about = { version: signed, expires: signed + 2 * DAY };
  const content = timestampMetadata(about, facts.get('snapshot') as FileFacts);
  await put(TIMESTAMP_FILE, signMetadata(content, [timestamp]));
}
