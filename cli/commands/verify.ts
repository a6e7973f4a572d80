import type { Command } from 'commander';
import { isKeyId } from '../../core/keys/key-id.ts';
import { isSite } from '../../core/site/site.ts';
import { readConfiguration } from '../../publisher/configuration/read.ts';
import { count } from '../../publisher/text.ts';
import type { Finding, VerifyReport } from '../../publisher/verify/report.ts';
import { verifyTree } from '../../publisher/verify/tree.ts';
import { verifyUrl } from '../../publisher/verify/url.ts';
import { CONFIGURATION_FILE } from '../../publisher/workspace.ts';
import { checkReadable } from '../arguments.ts';
import { showProgress } from '../progress.ts';
import { EXIT, print, say, UsageError } from '../voice.ts';

interface Options {
  publisher?: string;
  site?: string;
  quiet?: boolean;
  json?: boolean;
}

const DESCRIPTION = `check a protected site without any secret key: the host proof, the descriptor, the signature, place and every block of each object, every public file, and that nothing else lies there

for a URL, name the documents: there is no signed list of them yet, so only / and the paths that are given can be checked

exit code 3 if anything is found`;

/** `wispr verify [DIR|URL] [PATH…]` */
export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .summary('check a protected site, without any secret key')
    .description(DESCRIPTION)
    .argument('[place]', 'a directory, or the URL of a site (default: "out" of wispr.json here)')
    .argument('[paths...]', 'with a URL: the documents to check')
    .option('--publisher <id>', 'the publisher key that must have signed it')
    .option('--site <host>', 'the site, where the descriptor names several')
    .option('-q, --quiet', 'print findings only')
    .option('--json', 'print one JSON object')
    .action(verify);
}

async function verify(named: string | undefined, paths: string[], options: Options): Promise<void> {
  const { quiet, json } = options;
  const place = named ?? (await readConfiguration(CONFIGURATION_FILE)).out;
  const report = await check(place, paths, options);
  if (json) print(JSON.stringify(report));
  else for (const finding of report.findings) print(describeFinding(finding));
  if (!json && !quiet) for (const line of describeReport(place, report)) say(line);
  if (report.findings.length > 0) process.exitCode = EXIT.found;
}

function check(place: string, paths: string[], { publisher, site, quiet }: Options): Promise<VerifyReport> {
  if (publisher !== undefined && !isKeyId(publisher)) {
    throw new UsageError(`${publisher} is not a key id`, {
      hint: 'a key id has 43 characters; "wispr protect" says which one is the publisher\'s',
    });
  }
  if (site !== undefined && !isSite(site)) throw new UsageError(`${site} is not a host name`);
  const expected = { ...(publisher && { publisher }), ...(site && { site }) };
  if (/^https?:\/\//i.test(place)) {
    if (!URL.canParse(place)) throw new UsageError(`${place} is not a URL`);
    return verifyUrl(new URL(place), paths, expected);
  }
  if (paths.length > 0) throw new UsageError('paths can be named with a URL only; a directory is checked whole');
  checkReadable(place);
  const progress = quiet ? undefined : showProgress('verifying', 'files');
  return verifyTree(place, { ...expected, ...(progress && { onProgress: progress.update }) }).finally(() =>
    progress?.end(),
  );
}

function describeFinding({ path, code, message }: Finding): string {
  return `${path}: ${code}: ${message}`;
}

function describeReport(place: string, report: VerifyReport): string[] {
  const { site, publisher, encrypted, signed, fallbackPages, findings, notes } = report;
  const who = site === undefined ? [] : [`${place} is the site ${site}, signed by ${publisher}`];
  const passed = `${count(encrypted, 'encrypted document')} and ${count(signed, 'public document')} passed every check that takes no key`;
  const pages =
    fallbackPages.length === 0
      ? []
      : [`${count(fallbackPages.length, 'fallback page')}, not signed, as wispr makes them`];
  const found =
    findings.length === 0
      ? 'nothing wrong was found'
      : `${count(findings.length, 'thing is wrong', 'things are wrong')}`;
  return [...who, passed, ...pages, ...notes.map((note) => `note: ${note}`), found];
}
