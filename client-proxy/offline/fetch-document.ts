/** Fetches one document through the forward proxy within a process, whether or not a proxy listens: checks and refusals are the proxy's. */
import type { IncomingMessage } from 'node:http';
import { CodedError } from '../../core/errors.ts';
import { fieldOf } from '../../node-support/end-to-end-fields.ts';
import { request } from '../../node-support/http.ts';
import { ReadingError } from '../../reading/errors.ts';
import { missingSoFar } from '../../reading/missing-so-far.ts';
import { ReaderError } from '../errors.ts';
import { DocumentRefused } from '../running/conversation.ts';
import { inReader } from '../running/in-reader.ts';
import { type InProcessConnector, type OpenReader, openReader, type ProxyOptions } from '../server/open-reader.ts';
import type { BoundSite } from '../site/bound-sites.ts';
import { hasDatabase, storeOptions } from '../store/locations.ts';
import { cutRange, type FetchedDocument, isForAnother, type RequestedRange, withoutField } from './cut-range.ts';
import { type Located, locate } from './locate.ts';

interface FetchRequest {
  /** Address of a connected site, by either scheme or by its gateway. */
  readonly address: string;
  readonly method?: 'GET' | 'HEAD';
  /** Sent along; names and values alternate. */
  readonly headers?: readonly string[];
  readonly range?: RequestedRange | undefined;
}

interface FetchDialog {
  head(document: Omit<FetchedDocument, 'content'>): Promise<void>;
  content(piece: Uint8Array): Promise<void>;
}

export interface FetchOptions extends Omit<ProxyOptions, 'port' | 'onRefusal'>, FetchRequest {
  readonly signal?: AbortSignal;
  /** Options as they were typed, of which a Reader that runs has its own: refused there. */
  readonly ownOptions?: readonly string[];
}

const MAXIMUM_REDIRECTS = 10;
const ignore = () => undefined;
const NO_SITES = { find: () => undefined, findLabel: () => undefined };

/**
 * Fetches a document, and calls `use` with it. Everything stays open until `use` is done.
 *
 * @throws DocumentRefused with the code of the error that kept the document away, such as `condition-unmet`;
 * ReaderError `argument-invalid`, `not-connected`, `port-refused`, `loop`, and those of the store
 */
export async function fetchDocument<Result>(
  options: FetchOptions,
  use: (document: FetchedDocument) => Promise<Result>,
): Promise<Result> {
  const { address, method, headers, range, signal, ownOptions } = options;
  const { directory, limits } = storeOptions(options);
  if (!hasDatabase(directory)) locate(address, NO_SITES); // looking makes none
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  let used: Promise<Result> | undefined;
  const begin = (work: Promise<Result>) => {
    used = work;
    used.catch(ignore); // awaited below
    return used;
  };
  const dialog: FetchDialog = {
    head: async (head) => void begin(use({ ...head, content: readable })),
    content: (piece) => writer.write(piece),
  };
  try {
    const request = { address, method, headers, range };
    const command = { directory, limits, name: 'fetch', request, dialog, signal, ownOptions } as const;
    await inReader(command, () => begin(fetchLocally(options, use)));
    writer.close().catch(ignore);
  } catch (error) {
    if (used === undefined) throw error;
    writer.abort(error).catch(ignore);
  }
  return used as unknown as Promise<Result>;
}

async function fetchLocally<Result>(
  options: FetchOptions,
  use: (document: FetchedDocument) => Promise<Result>,
): Promise<Result> {
  await using reader = await openReader(options);
  // Waits for the check of the publication: this process ends with the document, so a check in the background would never finish.
  const check = (bound: BoundSite) => bound.publication.check().catch(ignore);
  return await withConnector(reader, async (connector) => use(await follow(reader, connector, options, check)));
}

export async function fetchInReader(
  reader: OpenReader,
  request: FetchRequest,
  { head, content }: FetchDialog,
  signal: AbortSignal,
): Promise<void> {
  await reader.sites.refresh();
  await withConnector(reader, async (connector) => {
    const { content: pieces, ...described } = await follow(reader, connector, { ...request, signal });
    await head(described);
    for await (const piece of pieces) await content(piece);
  });
}

/** Connections for one document, and the errors that they were refused with. */
interface ObservedConnector extends InProcessConnector {
  readonly refusals: readonly CodedError[];
}

async function withConnector<Result>(
  { openConnector }: OpenReader,
  work: (connector: ObservedConnector) => Promise<Result>,
): Promise<Result> {
  const refusals: CodedError[] = [];
  const connector = openConnector((error) => refusals.push(error));
  try {
    return await work({ ...connector, refusals });
  } finally {
    await connector.close();
  }
}

/** Sends one request within this process, as a program sends it to the proxy. Resolves with the head of the response. */
function ask(
  { connect }: ObservedConnector,
  target: string,
  { method, headers, signal }: Pick<FetchRequest, 'method' | 'headers'> & { readonly signal?: AbortSignal | undefined },
): Promise<IncomingMessage> {
  const connection = connect().on('error', ignore); // told by the answer
  const fields = ['host', new URL(target).host, ...(headers ?? [])];
  return new Promise((resolve, reject) => {
    request({ createConnection: () => connection, method, path: target, headers: fields, ...(signal && { signal }) })
      .once('response', resolve)
      .once('error', reject)
      .end();
  });
}

/** Follows signed redirects to connected sites. @param prepare - called for each site before it is read */
async function follow(
  { sites }: OpenReader,
  connector: ObservedConnector,
  {
    address,
    method = 'GET',
    headers = [],
    range,
    signal,
  }: FetchRequest & { readonly signal?: AbortSignal | undefined },
  prepare: (bound: BoundSite) => Promise<void> = async () => undefined,
): Promise<FetchedDocument> {
  const fields = ['accept', '*/*', ...headers];
  if (!isNamed('accept-encoding', headers)) fields.push('accept-encoding', 'identity');
  if (range) fields.push('range', `bytes=${range.start ?? ''}-${range.end ?? ''}`);
  let { bound, target } = locate(address, sites);
  for (let turn = 0; turn <= MAXIMUM_REDIRECTS; turn++) {
    await prepare(bound);
    const answer = await ask(connector, target, { method, headers: fields, signal });
    const location = redirectOf(answer);
    if (location === undefined)
      return describe(answer, { address: target, range, fields }, connector.refusals).catch((error: unknown) => {
        throw unlessNewer(error, bound);
      });
    answer.resume();
    ({ bound, target } = locateNext(target, new URL(location, target).href, sites));
  }
  throw new ReaderError('loop', `the publisher's redirects from ${address} do not end`);
}

/** Replaces `no-such-document` where no host could be asked for a newer publication: the document may be in that one. */
function unlessNewer(error: unknown, { publication: { failure, publication } }: BoundSite): unknown {
  const isMissing = error instanceof DocumentRefused && error.code === 'no-such-document';
  if (!isMissing || !(failure instanceof CodedError)) return error;
  return new DocumentRefused(error.address, failure, missingSoFar(publication.state?.snapshot.version, failure));
}

/** The person who typed the first address knows neither the next one nor the redirect. */
function locateNext(from: string, to: string, sites: OpenReader['sites']): Located {
  try {
    return locate(to, sites);
  } catch (error) {
    if (!(error instanceof ReaderError)) throw error;
    const message = `${from} leads on to ${to}, as its publisher signed: ${error.message}`;
    throw new ReaderError(error.code, message, { cause: error });
  }
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return statusCode >= 300 && statusCode < 400 && statusCode !== 304 ? headers.location : undefined;
}

interface SentRequest {
  readonly address: string;
  readonly range: RequestedRange | undefined;
  readonly fields: readonly string[];
}

async function describe(
  answer: IncomingMessage,
  asked: SentRequest,
  refusals: readonly CodedError[],
): Promise<FetchedDocument> {
  const { address, range, fields } = asked;
  const { statusCode: status = 0, statusMessage = '' } = answer;
  const refusal = refusals.at(-1) ?? refusalOf(status, fields);
  if (refusal) throw new DocumentRefused(address, refusal);
  const head = withoutField('transfer-encoding', answer); // chunks end here
  const document = { address, status, statusMessage, ...head, content: answer };
  const isWhole = range === undefined || status !== 200 || isForAnother(fieldOf('if-range', fields), document);
  const reasonOf = (error: unknown) => refusedAs(address, refusals.at(-1) ?? error);
  const wanted = isWhole
    ? document
    : await cutRange(document, range).catch((error: unknown) => Promise.reject(reasonOf(error)));
  return { ...wanted, content: untilItEnds(wanted.content, answer, reasonOf) };
}

/** The error for a status that is a proper answer of the proxy, but brings no document. */
export function refusalOf(status: number, fields: readonly string[]): CodedError | undefined {
  switch (status) {
    case 200:
    case 206:
    case 304:
      return undefined;
    case 404:
      return new ReadingError('no-such-document', 'the publisher signed that there is no such document');
    case 412:
      return new ReaderError('condition-unmet', `what is there now is not what ${conditionIn(fields)} asks for`);
    case 416:
      return new ReaderError('condition-unmet', 'it is shorter than where the range begins');
    default:
      return new ReaderError('internal', `the Reader answered ${status}`);
  }
}

/** The one that counts (RFC 9110 section 13.2.2). */
function conditionIn(fields: readonly string[]): string {
  return isNamed('if-match', fields) ? 'If-Match' : 'If-Unmodified-Since';
}

function refusedAs(address: string, error: unknown): unknown {
  return error instanceof CodedError ? new DocumentRefused(address, error) : error;
}

/** @throws the reason of an error of the content */
async function* untilItEnds(
  content: AsyncIterable<Uint8Array>,
  answer: IncomingMessage,
  reasonOf: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throw reasonOf(error);
  } finally {
    answer.destroy();
  }
}

function isNamed(name: string, headers: readonly string[]): boolean {
  return fieldOf(name, headers) !== undefined;
}
