/**
 * Shows documents: fetched from the content host, verified and decrypted here, with the signed headers and no others. Nothing of a document
 * leaves before its head, its key and its first block have passed; a check that fails later cuts the connection.
 */
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Request, Response } from 'express';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { createDecoder } from '../../node-support/content-coding.ts';
import { onceClosed } from '../../node-support/once-closed.ts';
import { cutConnection } from '../../node-support/plain-sockets.ts';
import { prefersCoding } from '../../reading/accept-encoding.ts';
import type { Adapted } from '../../reading/content.ts';
import { documentHeaders } from '../../reading/document-headers.ts';
import { openerOf, senderOf } from '../../reading/navigation.ts';
import { PageEnds, takesScripts } from '../../reading/page-scripts.ts';
import { type DocumentAnswer, serveDocument } from '../../reading/serve-document.ts';
import { KeyServerError } from '../errors.ts';
import type { Provider } from '../publication/provider.ts';
import { findKeyForReading } from '../readers/entitlement.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import type { ContentHosts } from './content-host.ts';
import type { PageFront } from './first-page.ts';

/** Milliseconds until head, key and first block must be there. */
const OPENING_TIMEOUT = 60_000;

export interface DocumentService {
  readonly state: KeyServerState;
  readonly hosts: ContentHosts;
}

export interface SiteDocument {
  readonly provider: Provider;
  readonly site: SiteDescription;
  readonly path: string;
  readonly entry: DocumentEntry;
}

export interface DocumentRequest extends SiteDocument {
  /** 404: it stands for one that does not exist, and is sent whole. */
  readonly status: 200 | 404;
  /** `undefined` where no subscriber is signed in. */
  readonly subscriber: Subscriber | undefined;
  /** Finds those who have given this browser the document with a path; asked where the subscriber may not read it. */
  readonly giversOf: (path: string) => Promise<readonly Subscriber[]>;
  /** Addition to a page, which is sent as a whole then. */
  readonly front: PageFront | undefined;
}

/**
 * Answers a GET or HEAD with a document.
 *
 * @throws ReadingError, PublicationError, ObjectError, KeyServerError `not-signed-in`, `not-entitled`, `lapsed`, `revoked`; nothing was sent then
 */
export async function sendDocument(
  service: DocumentService,
  { provider, site, path, entry, status, subscriber, giversOf, front }: DocumentRequest,
  request: Request,
  response: Response,
): Promise<void> {
  const { host, accept } = request.headers;
  const transfer = new AbortController();
  const goOn = onceClosed(response, () => transfer.abort());
  const timer = setTimeout(() => transfer.abort(), OPENING_TIMEOUT);
  try {
    const answer = await serveDocument({
      supply: service.hosts.supplyOf(site, path, entry, transfer.signal),
      wanted: { site: site.site, path, publisherKey: provider.descriptor.publisherKeyBytes, entry },
      context: { findKey: keyFinder(service.state, subscriber, site, () => giversOf(path)), now: service.state.now() },
      // Tags are of the whole, in no coding: what is sent is made of it, and has no tag.
      request: front ? { method: request.method, headers: { host, accept } } : request,
      status,
      adapt: (carried) => ({ ...carried, headers: documentHeaders(carried.headers) }),
      opened: () => clearTimeout(timer),
    });
    await send(answer, front, request, response);
  } catch (error) {
    goOn(); // a further attempt may follow
    transfer.abort();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Finds keys for whoever reads.
 *
 * @param givers - those who have given the document to this browser; what they may not read either is refused as if there were none
 */
export function keyFinder(
  state: KeyServerState,
  subscriber: Subscriber | undefined,
  { site }: SiteDescription,
  givers: () => Promise<readonly Subscriber[]> = async () => [],
) {
  return async (id: string): Promise<SetKey | undefined> => {
    const own = subscriber && (await findKeyForReading(state, subscriber, site, id));
    if (own !== undefined && typeof own !== 'string') return own;
    for (const giver of await givers()) {
      const given = await findKeyForReading(state, giver, site, id);
      if (given !== undefined && typeof given !== 'string') return given;
    }
    if (!subscriber) throw new KeyServerError('not-signed-in', 'no subscriber is signed in');
    if (own !== undefined) throw new KeyServerError(own, 'the subscriber may not have the key of this set');
    return undefined;
  };
}

async function send(
  { status, headers, part, chosen, begin }: DocumentAnswer<Adapted>,
  front: PageFront | undefined,
  request: Request,
  response: Response,
): Promise<void> {
  const content = part === 'nothing' ? undefined : await begin();
  response.removeHeader('Content-Security-Policy');
  // Express's `set` would add a charset to what the publisher signed.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // Pages of other origins have not come as far as this, but teasers at the account's have come as far as this.
  const isForTeaser = senderOf(request.headers) === 'elsewhere' && openerOf(request.headers) === 'page';
  if (isForTeaser) response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
  response.status(status);
  if (!content) return void response.end();
  const undo = part === 'whole' ? chosen.undo : undefined;
  const isPage = front && takesScripts(String(headers['content-type']));
  if (!isPage) return stream(content.pieces, undo ? [createDecoder(undo)] : [], response);
  for (const name of ['Content-Length', 'ETag', 'Last-Modified', 'Accept-Ranges']) response.removeHeader(name);
  const policies = [headers['content-security-policy'] ?? []].flat();
  response.setHeader('Content-Security-Policy', policies.map(front.permit));
  const coding = ['br', 'gzip'].find((name) => prefersCoding(request.headers['accept-encoding'], name));
  if (coding) response.vary('Accept-Encoding').setHeader('Content-Encoding', coding);
  const ends = new PageEnds(front.tag, front.behind ?? '');
  const adding = new Transform({
    transform: (piece, _encoding, done) => done(null, ends.add(piece)),
    flush: (done) => done(null, ends.end()),
  });
  const decoders = undo ? [createDecoder(undo)] : [];
  await stream(content.pieces, [...decoders, adding, ...(coding ? [encoder(coding)] : [])], response);
}

/** A page is short, and waits for nothing. */
function encoder(coding: string): Transform {
  return coding === 'br' ? createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }) : createGzip();
}

async function stream(
  content: AsyncIterable<Uint8Array>,
  through: readonly Transform[],
  response: Response,
): Promise<void> {
  if (through.length === 0) return pipeline(Readable.from(content, { objectMode: false }), response);
  const source = Readable.from(cuttingOff(response, content), { objectMode: false });
  return pipeline([source, ...through, response]);
}

/**
 * Cuts the connection before an error goes any further: without a length and in HTTP/1.0, where the end of the connection is the end of
 * the document, only a reset tells that it is not whole.
 */
async function* cuttingOff(response: Response, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    cutConnection(response.socket);
    throw error;
  }
}
