import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { isKeyId } from '../../core/crypto/key-id.ts';
import { isSite } from '../../core/site/site.ts';
import { isBucket } from '../../node-support/storage/open.ts';
import { describeFinding, describeReport, type VerifyReport } from '../../publisher/verify/report.ts';
import { verifyBucket, verifyTree, verifyUrl } from '../../publisher/verify/verify.ts';
import { readConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { CONFIGURATION_FILE } from '../../publisher/workspace/workspace.ts';
import { parseNumber } from '../io/arguments.ts';
import { JSON_OPTION, type OutputFlags } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { showProgress } from '../io/progress.ts';
import { EXIT, print, say, UsageError } from '../io/voice.ts';

interface Options extends OutputFlags {
  root?: string;
  sample?: number;
  site?: string;
}

const DESCRIPTION = `check a protected site without any secret key: that it is whole, and that nothing in it is old, changed or added

PLACE is a directory, s3://BUCKET/PREFIX, or a URL; of a URL, files that the publication does not name cannot be seen
exit code 3 if anything is found`;

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .summary('check a protected site without secret keys')
    .description(DESCRIPTION)
    .argument('[place]', 'a directory, s3://BUCKET/PREFIX, or the URL of a site (default: "out" of wispr.json)')
    .argument('[paths...]', 'with a URL: only these documents')
    .option('--root <id>', "the publisher's fingerprint, known from elsewhere")
    .option(
      '--sample <n>',
      'with a URL: so many documents, picked at random',
      parseNumber(/^[1-9]\d{0,8}$/, 'it has to be a number above 0'),
    )
    .option('--site <host>', 'which site, if the descriptor names several')
    .option('-q, --quiet', 'print findings only')
    .option(...JSON_OPTION)
    .action(verify);
}

async function verify(named: string | undefined, paths: string[], options: Options): Promise<void> {
  const { quiet, json } = options;
  const place = named ?? (await ownOutput());
  const report = await check(place, paths, options);
  if (json) print(JSON.stringify(report));
  else for (const finding of report.findings) print(describeFinding(finding));
  if (!json && !quiet) for (const line of describeReport(place, report)) say(line);
  if (report.findings.length > 0) setExitCode(EXIT.found);
}

async function ownOutput(): Promise<string> {
  const { out } = await readConfiguration(CONFIGURATION_FILE);
  if (existsSync(out)) return out;
  throw new UsageError(`${out}: no such directory`, 'run "wispr protect" first: it makes it');
}

function check(place: string, paths: string[], { root, site, sample, quiet }: Options): Promise<VerifyReport> {
  if (root !== undefined && !isKeyId(root)) {
    throw new UsageError(
      `${root} is not a fingerprint`,
      'a fingerprint has 43 characters; "wispr protect" and "wispr init" say which one is the publisher\'s',
    );
  }
  if (site !== undefined && !isSite(site)) throw new UsageError(`${site} is not a host name`);
  const isUrl = /^https?:\/\//i.test(place);
  if (isUrl) checkUrl(place);
  if (!isUrl && paths.length > 0)
    throw new UsageError('paths can be named with a URL only; a directory or a bucket is checked whole');
  if (!isUrl && sample !== undefined)
    throw new UsageError('--sample is for URLs; a directory or a bucket is checked whole');
  if (!isUrl && !isBucket(place)) checkDirectory(place);
  const progress = showProgress('verifying', 'documents', quiet);
  const expected = { ...(root && { root }), ...(site && { site }), onProgress: progress.update };
  const checking = isUrl
    ? verifyUrl(new URL(place), { ...expected, paths, ...(sample !== undefined && { sample }) })
    : (isBucket(place) ? verifyBucket : verifyTree)(place, expected);
  return checking.finally(progress.end);
}

function checkDirectory(place: string): void {
  if (existsSync(place)) return;
  if (/^[a-z][a-z0-9+.-]*:/i.test(place))
    // Credentials may be in it, so it is not repeated.
    throw new UsageError(
      'what is verified is a directory, s3://BUCKET/PREFIX, or a site at a URL that begins with http:// or https://',
      'name the URL where readers find the site, or a directory with a copy of it',
    );
  throw new UsageError(`${place}: no such file or directory`, 'check the path; a URL begins with https:// or http://');
}

/** Refuses URLs without a slash at the end, which could be a document's. */
function checkUrl(place: string): void {
  if (!URL.canParse(place)) throw new UsageError(`${place} is not a URL`);
  const { origin, pathname } = new URL(place);
  if (pathname.endsWith('/')) return;
  throw new UsageError(
    `${place} does not end with a slash, as the URL of a site does`,
    `one document is checked by: wispr verify ${origin} ${pathname}`,
  );
}
