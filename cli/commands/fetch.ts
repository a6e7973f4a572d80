/** `wispr fetch URL`: one verified document on standard output, for scripts. No proxy has to run. */
import { type Command, InvalidArgumentError } from 'commander';
import { DocumentRefused, type FetchedDocument, fetchDocument, type RequestedRange } from '../../client-proxy/index.ts';
import { CodedError } from '../../core/errors.ts';
import { validateHeaderName, validateHeaderValue } from '../../node-support/http.ts';
import { size } from '../../node-support/size.ts';
import { type OutputFlags, QUIET_OPTION } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { type Delivered, deliver } from '../io/deliver.ts';
import { untilSignal } from '../io/signals.ts';
import { EXIT, print, say, UsageError } from '../io/voice.ts';
import { addConnectionOptions, type ConnectionFlags, connectionOptions, ownOptions } from './reader-options.ts';

interface FetchFlags extends ConnectionFlags, OutputFlags {
  readonly range?: RequestedRange;
  readonly header?: readonly string[];
  readonly include?: boolean;
  readonly head?: boolean;
  readonly output?: string;
}

const DESCRIPTION = `fetch one document of a connected site, verified and decrypted, to standard output

by the checks of the proxy, which need not run; http:// and https:// both mean the site, and its gateway address does too

what comes out is verified; if the end is missing, the exit code is 1, and FILE of --output is not written

with --header 'If-None-Match: "..."' and the like, FILE is left alone where it has not changed, which is no failure`;

/** Fields that say how messages are carried, which is not for a caller to say. */
const OWN_FIELDS =
  /^(?:host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i;

export function addFetchCommand(program: Command): void {
  const command = program
    .command('fetch')
    .summary('fetch one document of a connected site, verified, to standard output')
    .description(DESCRIPTION)
    .argument('<url>', 'for example https://news.example/a.html')
    .option('-r, --range <range>', 'only these bytes: START-END, START- or -LAST, as for curl', parseRange)
    .option('-H, --header <line>', "send this along, 'Name: value'; repeatable", collectHeader)
    .option('-i, --include', 'print the head of the answer too, names in lower case')
    .option('-I, --head', 'print the head only, and fetch no more than that takes')
    .option('-o, --output <file>', 'write FILE, whole or not at all')
    .option(...QUIET_OPTION)
    .option('--json', 'with --output: print what was fetched as one line of JSON');
  addConnectionOptions(command).action(runFetch);
}

async function runFetch(address: string, flags: FetchFlags): Promise<void> {
  const { range, header = [], head, json, output } = flags;
  if (json && (output === undefined || output === '-'))
    throw new UsageError('--json needs --output, because the document itself goes to standard output');
  if (output === '') throw new UsageError('--output needs the name of a file');
  if (range && head) throw new UsageError('--head has no bytes to take a --range of');
  const options = { ...(await connectionOptions(flags)), ...ownOptions(flags) };
  await untilSignal(async (signal) => {
    const wanted = { ...options, address, headers: header, range, signal, method: head ? 'HEAD' : 'GET' } as const;
    try {
      await fetchDocument(wanted, async (document) => {
        report(document, await deliver(document, flags), flags);
      });
    } catch (error) {
      if (!signal.aborted) throw error instanceof DocumentRefused ? new NotFetched(error, output) : error;
      say('stopped before the end of the document');
      setExitCode(EXIT.failed);
    }
  });
}

function report(
  { address, headers, status }: FetchedDocument,
  { bytes, written }: Delivered,
  { head, include, json, quiet, output, range }: FetchFlags,
): void {
  const { 'content-type': type, 'wispr-confirmed': confirmed } = headers;
  const file = output === '-' ? undefined : output;
  if (json) print(JSON.stringify({ url: address, status, bytes, type, confirmed, ...(written && { file }) }));
  if (range && status === 200) say(`all of ${address} came, not the range: it is another version than If-Range names`);
  if (json || quiet) return;
  if (!written) say(`not changed: ${address}; nothing is written to ${file}`);
  else if (file !== undefined) say(`wrote ${file}: ${head ? 'the head of the answer, ' : ''}${size(bytes)}, verified`);
  else if (status === 304 && !head && !include) say(`not changed: ${address}`);
}

/** Error that names the output file, too, which is not written. */
class NotFetched extends CodedError {
  constructor(cause: DocumentRefused, output: string | undefined) {
    const file = output === undefined || output === '-' ? '' : `, and ${output} is not written`;
    super({}, cause.code, `not fetched${file}: ${cause.message}`, { cause });
  }
}

function parseRange(text: string): RequestedRange {
  const [matched, first, last] = /^(\d{0,15})-(\d{0,15})$/.exec(text) ?? [];
  const [start, end] = [first, last].map((digits) => (digits ? Number(digits) : undefined));
  const backwards = start !== undefined && end !== undefined && end < start;
  if (matched === undefined || (start === undefined && end === undefined) || backwards)
    throw new InvalidArgumentError('a range is like 0-99, 100- or -100; several at once are not possible');
  return { start, end };
}

function collectHeader(text: string, previous: readonly string[] = []): readonly string[] {
  const [matched, name = '', value = ''] = /^([^:]+):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
  if (matched === undefined) throw new InvalidArgumentError("a header field is like 'Name: value'");
  if (OWN_FIELDS.test(name)) throw new InvalidArgumentError('this field is not for a caller to send');
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new InvalidArgumentError('a header field has no such characters');
  }
  return [...previous, name, value];
}
