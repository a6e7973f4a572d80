/**
 * One document for a program, by the forward proxy's own door, whether or not a proxy runs: what comes out has passed the same checks, and a
 * refusal is the same refusal.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { CodedError } from '../../core/errors.ts';
import { sliceOf } from '../../core/reading/byte-range.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import { ReaderError } from '../errors.ts';
import { type OpenReader, openReader, type ProxyOptions } from '../open-reader.ts';
import { hasDatabase } from '../store/locations.ts';
import { ask } from './ask.ts';
import { locate } from './locate.ts';

/** What of a document is wanted: bytes from `start` to `end`, both included; without `start` the last `end`, without `end` all from `start`. */
export interface WantedRange {
  readonly start: number | undefined;
  readonly end: number | undefined;
}

export interface FetchOptions extends Omit<ProxyOptions, 'port' | 'onRefusal'> {
  /** Address of a connected site, by either scheme or by its gateway. */
  readonly address: string;
  readonly method?: 'GET' | 'HEAD';
  /** Sent along; names and values alternate. */
  readonly headers?: readonly string[];
  readonly range?: WantedRange | undefined;
  readonly signal?: AbortSignal;
}

export interface FetchedDocument {
  /** Of the document: after redirects that the publisher signed. */
  readonly address: string;
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternate. */
  readonly rawHeaders: readonly string[];
  /** Verified piece by piece. What breaks it off is thrown out of it, after everything that was verified before. */
  readonly content: AsyncIterable<Uint8Array>;
}

const MAXIMUM_REDIRECTS = 10;
const NO_SITES = { find: () => undefined, findLabel: () => undefined };

/**
 * Fetches a document, and hands it to `use`, until which is done everything stays open.
 *
 * @throws whatever kept the document from being had; ReaderError `address-malformed`, `site-unknown`, `range-refused`, `redirect-refused`
 */
export async function fetchDocument<Result>(
  options: FetchOptions,
  use: (document: FetchedDocument) => Promise<Result>,
): Promise<Result> {
  const refusals: CodedError[] = [];
  if (!hasDatabase(options.dataDirectory)) locate(options.address, NO_SITES); // looking makes none
  const reader = await openReader({ ...options, onRefusal: (error) => refusals.push(error) });
  try {
    return await use(await follow(reader, options, refusals));
  } finally {
    await reader.close();
  }
}

/** Redirects are signed, so they are followed, to connected sites. */
async function follow(
  { connect, sites }: OpenReader,
  { address, method = 'GET', headers = [], range, signal }: FetchOptions,
  refusals: readonly CodedError[],
): Promise<FetchedDocument> {
  const fields = ['accept', '*/*', ...headers];
  if (!isNamed('accept-encoding', headers)) fields.push('accept-encoding', 'identity');
  if (range) fields.push('range', rangeField(range));
  let { target } = locate(address, sites);
  for (let turn = 0; turn <= MAXIMUM_REDIRECTS; turn++) {
    const answer = await ask(connect(), { method, target, headers: fields, signal });
    const location = redirectOf(answer);
    if (location === undefined) return describe(answer, target, range, refusals);
    answer.resume();
    target = locate(new URL(location, target).href, sites).target;
  }
  throw new ReaderError('redirect-refused', `the publisher's redirects from ${address} do not end`);
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return statusCode >= 300 && statusCode < 400 && statusCode !== 304 ? headers.location : undefined;
}

function describe(
  answer: IncomingMessage,
  address: string,
  range: WantedRange | undefined,
  refusals: readonly CodedError[],
): FetchedDocument {
  const { statusCode: status = 0, statusMessage = '', headers, rawHeaders } = answer;
  const refusal = refusals.at(-1) ?? refusalOf(status, address);
  if (refusal) throw refusal;
  const cut = range !== undefined && status === 200 ? sliced(answer, range) : answer;
  return { address, status, statusMessage, headers, rawHeaders, content: whole(cut, answer, refusals) };
}

/** Answers of the doors that are no errors to them. */
function refusalOf(status: number, address: string): CodedError | undefined {
  if (status === 404) return new ReadingError('no-such-document', `the publisher signed that there is no ${address}`);
  if (status === 416) return new ReaderError('range-refused', `${address} is shorter than where the range begins`);
  return undefined;
}

/** Where the doors serve no ranges, because a content coding is undone on the way. */
async function* sliced(answer: IncomingMessage, { start, end }: WantedRange): AsyncGenerator<Uint8Array> {
  if (start === undefined)
    throw new ReaderError('range-refused', 'how long this document is shows only when all of it is there', {
      hint: 'name the first byte of the range, or fetch the whole document',
    });
  let some = false;
  for await (const piece of sliceOf(answer, { start, end: end === undefined ? Number.MAX_SAFE_INTEGER : end + 1 })) {
    some = true;
    yield piece;
  }
  if (!some) throw new ReaderError('range-refused', 'the document is shorter than where the range begins');
}

/** @throws what ended the transfer before its time, in the words of the door */
async function* whole(
  content: AsyncIterable<Uint8Array>,
  answer: IncomingMessage,
  refusals: readonly CodedError[],
): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of content) yield piece;
  } catch (error) {
    throw refusals.at(-1) ?? error;
  } finally {
    answer.destroy();
  }
}

function rangeField({
  start = '',
  end = '',
}: {
  readonly start?: number | '' | undefined;
  readonly end?: number | '' | undefined;
}): string {
  return `bytes=${start}-${end}`;
}

function isNamed(name: string, headers: readonly string[]): boolean {
  return headers.some((field, index) => index % 2 === 0 && field.toLowerCase() === name);
}
