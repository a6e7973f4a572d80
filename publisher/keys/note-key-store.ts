/** The key store as the last publication left it: one that is other was changed since, or is older. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { readIfThere } from './file-update.ts';

export async function recordKeyStore(index: PublisherIndex, { keyStore }: Workspace): Promise<void> {
  index.setFact('keyStore', hash('sha256', await readFile(keyStore)));
}

/** Whether the key store is another than the last publication was made with; needs no passphrase, so what is other cannot be told. */
export async function isOtherKeyStore(index: PublisherIndex, { keyStore }: Workspace): Promise<boolean> {
  const bytes = await readIfThere(keyStore);
  return bytes === undefined || index.fact('keyStore') !== hash('sha256', bytes);
}
