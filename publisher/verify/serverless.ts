/** Checks what no signature covers on a site without a key server: the program that readers read with, and the key files of invitations. */
import { createHash } from 'node:crypto';
import { isLikeKeyFile } from '../../core/keys/key-file.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { startOf } from '../publication/sources.ts';
import { readingSiteFiles } from '../serverless/reading-site.ts';
import { sha256Of } from './documents.ts';
import type { VerifyReport } from './report.ts';
import type { KnownSite } from './site.ts';
import { Unreadable, type VerifiedSource } from './sources.ts';

/**
 * Checks files that can be made again, as fallback pages can, and have to be the same.
 *
 * @throws PublishError `web-reader-missing`
 */
export async function checkServerlessSite(
  site: KnownSite,
  source: VerifiedSource,
  report: VerifyReport,
): Promise<void> {
  for (const [path, bytes] of readingSiteFiles(site))
    await readable(path, report, async () => {
      const stream = await source.open(path);
      if (stream === undefined) report.find(path, 'file-missing', 'this file is not there');
      else if ((await sha256Of(stream)) !== createHash('sha256').update(bytes).digest('hex'))
        report.find(path, 'file-altered', 'not the reading site as this version of wispr makes it');
    });
}

/** Checks the form: only invited readers can tell more. */
export async function checkKeyFile(path: string, source: VerifiedSource, report: VerifyReport): Promise<void> {
  await readable(path, report, async () => {
    const stream = await source.open(path);
    const bytes = stream && (await startOf(stream, MESSAGE_LIMITS.keyFile + 1));
    if (bytes && isLikeKeyFile(bytes)) report.keyFiles++;
    else report.find(path, 'file-altered', 'not a key file');
  });
}

async function readable(path: string, report: VerifyReport, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    report.find(path, 'unreadable', error.message);
  }
}
