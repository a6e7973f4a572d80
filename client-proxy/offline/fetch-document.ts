/**
 * One document for a program, by the forward proxy's own door, whether or not a proxy runs: what comes out has passed the same checks, and a
 * refusal is the same refusal.
 */
import type { IncomingMessage } from 'node:http';
import { CodedError } from '../../core/errors.ts';
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

/** What goes to the Reader that runs. */
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
 * Fetches a document, and hands it to `use`, until which is done everything stays open.
 *
 * @throws DocumentRefused with the code of whatever kept the document from being had, `condition-unmet` and `condition-unmet` among them;
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
  const reader = await openReader(options);
  // This process ends with the document, and looks for newer publications with it: so they are waited for.
  const look = (bound: BoundSite) => bound.publication.check().catch(ignore);
  try {
    return await withConnector(reader, async (door) => use(await follow(reader, door, options, look)));
  } finally {
    await reader.close();
  }
}

/** Of the Reader that runs. */
export async function fetchInReader(
  reader: OpenReader,
  request: FetchRequest,
  { head, content }: FetchDialog,
  signal: AbortSignal,
): Promise<void> {
  await reader.sites.refresh();
  await withConnector(reader, async (door) => {
    const { content: pieces, ...described } = await follow(reader, door, { ...request, signal });
    await head(described);
    for await (const piece of pieces) await content(piece);
  });
}

/** Doors for one document, and what they have refused. */
interface ObservedConnector extends InProcessConnector {
  readonly refusals: readonly CodedError[];
}

async function withConnector<Result>(
  { openDoor }: OpenReader,
  work: (door: ObservedConnector) => Promise<Result>,
): Promise<Result> {
  const refusals: CodedError[] = [];
  const door = openDoor((error) => refusals.push(error));
  try {
    return await work({ ...door, refusals });
  } finally {
    await door.close();
  }
}

/** One request to the doors of this process, as a program would send it to the proxy. Resolves with the head of the answer. */
function ask(
  { connect }: ObservedConnector,
  target: string,
  { method, headers, signal }: Pick<FetchRequest, 'method' | 'headers'> & { readonly signal?: AbortSignal | undefined },
): Promise<IncomingMessage> {
  const connection = connect().on('error', ignore); // told by the answer
  const fields = ['host', new URL(target).host, ...(headers ?? [])];
  return new Promise((resolve, reject) => {
    request({
      createConnection: () => connection,
      method,
      path: target,
      headers: fields,
      ...(signal && { signal }),
    })
      .once('response', resolve)
      .once('error', reject)
      .end();
  });
}

/** Redirects are signed, so they are followed, to connected sites. @param look - at each site, before it is read */
async function follow(
  { sites }: OpenReader,
  door: ObservedConnector,
  {
    address,
    method = 'GET',
    headers = [],
    range,
    signal,
  }: FetchRequest & { readonly signal?: AbortSignal | undefined },
  look: (bound: BoundSite) => Promise<void> = async () => undefined,
): Promise<FetchedDocument> {
  const fields = ['accept', '*/*', ...headers];
  if (!isNamed('accept-encoding', headers)) fields.push('accept-encoding', 'identity');
  if (range) fields.push('range', `bytes=${range.start ?? ''}-${range.end ?? ''}`);
  let { bound, target } = locate(address, sites);
  for (let turn = 0; turn <= MAXIMUM_REDIRECTS; turn++) {
    await look(bound);
    const answer = await ask(door, target, { method, headers: fields, signal });
    const location = redirectOf(answer);
    if (location === undefined)
      return describe(answer, { address: target, range, fields }, door.refusals).catch((error: unknown) => {
        throw unlessNewer(error, bound);
      });
    answer.resume();
    ({ bound, target } = locateNext(target, new URL(location, target).href, sites));
  }
  throw new ReaderError('loop', `the publisher's redirects from ${address} do not end`);
}

/** What a program is told where no host could be asked for a newer publication: tried again later, the document may be there. */
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
  /** Header fields that went along. */
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
  const told = <Result>(work: () => Promise<Result>) => telling(address, refusals, work);
  const wanted = isWhole ? document : await told(() => cutRange(document, range));
  return { ...wanted, content: untilItEnds(wanted.content, answer, told) };
}

/** Answers of the doors that are no errors to them. What is none of the three that a document comes with is not taken for one. */
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

/** @throws DocumentRefused for what kept the document away, or ended the transfer before its time, in the words of the door */
async function telling<Result>(
  address: string,
  refusals: readonly CodedError[],
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const refusal = refusals.at(-1) ?? error;
    throw refusal instanceof CodedError ? new DocumentRefused(address, refusal) : refusal;
  }
}

async function* untilItEnds(
  content: AsyncIterable<Uint8Array>,
  answer: IncomingMessage,
  told: <Result>(work: () => Promise<Result>) => Promise<Result>,
): AsyncGenerator<Uint8Array> {
  const pieces = content[Symbol.asyncIterator]();
  try {
    for (let piece = await told(() => pieces.next()); !piece.done; piece = await told(() => pieces.next()))
      yield piece.value;
  } finally {
    answer.destroy();
  }
}

function isNamed(name: string, headers: readonly string[]): boolean {
  return fieldOf(name, headers) !== undefined;
}

function fieldOf(name: string, headers: readonly string[]): string | undefined {
  const index = headers.findIndex((field, position) => position % 2 === 0 && field.toLowerCase() === name);
  return index < 0 ? undefined : headers[index + 1];
}
