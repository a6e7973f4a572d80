/** Brings to web hosts what key servers look for before they push a timestamp. */
import { existsSync } from 'node:fs';
import { utf8 } from '../../core/encoding/bytes.ts';
import { METADATA_PATH, metadataFile } from '../../core/publication/names.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';

/** As `wispr publish` does before the timestamp. @param place - a directory or bucket; one that is gone stays so */
export async function bringSnapshot(place: string, publication: number): Promise<void> {
  if (!place.startsWith('s3:') && !existsSync(place)) return;
  const target = await openTarget(place);
  const options = { contentType: 'application/json', cacheControl: 'public, max-age=31536000, immutable' };
  try {
    await target.put(METADATA_PATH + metadataFile('snapshot', publication), utf8('{}'), options);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  } finally {
    target.close();
  }
}
