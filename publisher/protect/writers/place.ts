import { statSync } from 'node:fs';
import { join } from 'node:path';
import { utf8 } from '../../../core/encoding/bytes.ts';
import { toOutputNow } from '../to-output.ts';
import type { Placement } from './contract.ts';
import { contentFile, moveFile, replaceByCopy, replaceFile, stagedFile } from './files.ts';
import type { ThreadContext } from './jobs.ts';

/** Replaces what lies at a document's own name; returns its length. */
export function place(placement: Placement, { out, checkNotStopped }: ThreadContext): number {
  checkNotStopped();
  const file = join(out, placement.path);
  switch (placement.kind) {
    case 'page': {
      const page = utf8(placement.page);
      replaceFile(file, page);
      return page.length;
    }
    case 'copy':
      replaceByCopy(file, contentFile(out, placement.path, placement.content));
      break;
    case 'carrier':
      moveFile(stagedFile(out, placement.path, placement.head), file);
  }
  return toOutputNow(file, () => statSync(file).size);
}
