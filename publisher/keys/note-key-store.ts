/** The key store as the last publication left it: one that differs was changed since, or is older. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { readIfThere } from './file-update.ts';

export async function recordKeyStore(index: PublisherIndex, { keyStore }: Workspace): Promise<void> {
  index.setFact('keyStore', hash('sha256', await readFile(keyStore)));
}

/** Tells whether the key store differs from that of the last publication; needs no passphrase, so it cannot tell in what. */
export async function isOtherKeyStore(index: PublisherIndex, { keyStore }: Workspace): Promise<boolean> {
  const bytes = await readIfThere(keyStore);
  return bytes === undefined || index.fact('keyStore') !== hash('sha256', bytes);
}
