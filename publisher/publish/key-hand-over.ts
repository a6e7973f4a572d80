/** Hands the key bundle to the key server before any document needs its keys. */

import { hexDigest } from '../../core/encoding/digest.ts';
import { handOverKeys, isUnreachable } from '../authority/key-server.ts';
import { readIfThere } from '../keys/file-update.ts';
import type { Site } from './site.ts';

/**
 * Sends the bundle, or goes on without where the key server does not answer and has this very bundle already.
 *
 * @throws PublishError `key-server-unreachable`, `key-server-refused`
 */
export async function handOverBundle({ keyServer, workspace, index }: Site): Promise<void> {
  const bundle = await readIfThere(workspace.bundle);
  if (keyServer === undefined || bundle === undefined) return;
  const mark = `${keyServer.origin} ${await hexDigest(bundle)}`;
  try {
    await handOverKeys(keyServer, bundle);
    index.setFact('handedOver', mark);
  } catch (error) {
    if (!isUnreachable(error) || index.fact('handedOver') !== mark) throw error;
  }
}
