/** Answers a request for a document of a connected site, as reading/serve-document.ts decides. Forward proxy and gateway both come here. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { ReadingContext } from '../../core/object/document-reader.ts';
import type { ContentCoding } from '../../core/object/metadata.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { onceClosed } from '../../node-support/once-closed.ts';
import { CONFIRMED_HEADER } from '../../reading/confirmation.ts';
import type { Representation } from '../../reading/representation.ts';
import { type DocumentAnswer, type DocumentMemory, serveDocument } from '../../reading/serve-document.ts';
import type { GatewayLinks } from '../gateway/links.ts';
import { type Rewriting, rewritingOf, rewrittenFields, rewrittenRepresentation } from '../gateway/rewriting.ts';
import { type HeaderFields, VIA } from '../network/answer-fields.ts';
import { CLIENT_LEFT } from '../network/failures.ts';
import type { BoundSite } from '../site/bound-sites.ts';
import type { ChangedDeliveries } from './changed-deliveries.ts';
import { ContentSource } from './content-source.ts';
import { deliver } from './delivery.ts';
import { documentHeaders, type ProxyMode } from './document-headers.ts';
import { type ContentAccess, ReaderSupply } from './payload.ts';

export interface DeliveryAccess extends ContentAccess {
  readonly deliveries: ChangedDeliveries;
}

export interface SiteHttpExchange {
  readonly bound: BoundSite;
  readonly description: SiteDescription;
  readonly mode: ProxyMode;
  /** Links that stay in the gateway, where it is used. */
  readonly links: GatewayLinks | undefined;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface DocumentRequest extends SiteHttpExchange {
  readonly path: string;
  readonly entry: DocumentEntry;
  /** 404: it stands for one that does not exist, and is sent whole. */
  readonly status: 200 | 404;
  /** The moment to judge keys by, in place of the time: then nothing is fetched, neither content nor keys. */
  readonly past?: { readonly time: number } | undefined;
  /** Time at which the publication was last confirmed, as {@link CONFIRMED_HEADER} says it. */
  readonly confirmed: string;
  /** Answers in place of the document, where it returns `true`: asked with the headers that the document would have. */
  readonly instead: (headers: HeaderFields) => boolean;
  /** Called with a copy of the first bytes of a whole document that is sent, as they are carried. */
  readonly recordStart?: ((start: Uint8Array, coding: ContentCoding | undefined) => void) | undefined;
}

const START = 16_384;

/** Reason why a request to a content host ends: said at every request, so made once. */
const NOTHING_MORE = new Error('nothing more is wanted');

interface Decorated extends Omit<Representation, 'headers'> {
  readonly headers: HeaderFields;
  readonly rewriting: Rewriting | undefined;
}

/** @returns the document's source @throws why it is not shown; if `response.headersSent`, end it visibly incomplete */
export async function sendDocument(access: DeliveryAccess, wanted: DocumentRequest): Promise<'cache' | 'host'> {
  const { bound, path, entry, request, response, description, status, past } = wanted;
  const origins = past ? [] : description.content;
  const source = new ContentSource({ ...access, origins, inPage: entry.inPage });
  if (!past && entry.set !== undefined) bound.keys.find(entry.set).catch(() => undefined); // runs beside the object
  const goOn = onceClosed(response, () => source.end(CLIENT_LEFT));
  try {
    const answer = await serveDocument({
      supply: new ReaderSupply({ ...access, site: bound.site, path, entry, source }),
      wanted: { site: bound.site, path, publisherKey: bound.publisherKey, entry },
      context: contextOf(wanted),
      request: { method: request.method ?? '', headers: request.headers },
      status,
      memory: memoryOf(wanted),
      adapt: (carried) => decorated(carried, wanted),
      opened: () => source.opened(),
    });
    await send(answer, wanted, access.deliveries);
    return source.wasAsked ? 'host' : 'cache';
  } finally {
    goOn();
    source.end(NOTHING_MORE);
  }
}

function contextOf({ bound: { keys, remembered }, path, past }: DocumentRequest): ReadingContext {
  const known = remembered.get(path);
  return past ? { findKey: keys.findKept, now: past.time, known } : { findKey: keys.find, now: nowInSeconds(), known };
}

function memoryOf({ bound: { remembered }, path, entry }: DocumentRequest): DocumentMemory {
  const known = () => {
    const document = remembered.get(path);
    return document?.headHash === entry.head ? document.reader : undefined;
  };
  return {
    known,
    remember: (reader) => {
      if (reader !== known()) remembered.set(path, reader, entry.head);
    },
    forget: () => remembered.forget(path),
  };
}

function decorated(carried: Representation, { mode, links, confirmed }: DocumentRequest): Decorated {
  const rewriting = rewritingOf(carried.headers['content-type'] ?? '', links);
  const chosen = rewriting ? rewrittenRepresentation(carried, rewriting) : carried;
  const fields = links ? rewrittenFields(chosen.headers, links) : chosen.headers;
  const headers = { ...fields, via: VIA, [CONFIRMED_HEADER]: confirmed };
  return { ...chosen, headers: documentHeaders(headers, mode), rewriting };
}

async function send(
  { status, headers, part, chosen, metadata, begin }: DocumentAnswer<Decorated>,
  { response, instead, recordStart }: DocumentRequest,
  deliveries: ChangedDeliveries,
): Promise<void> {
  if (instead(chosen.headers)) return;
  if (part === 'nothing') return void response.writeHead(status, headers).end();
  const stream = await begin();
  const { pieces } = stream;
  const spend = (piece: Uint8Array) => stream.spend(piece);
  try {
    if (part !== 'whole') {
      await deliver(response, { status, headers, content: pieces, length: Number(headers['content-length']), spend });
      return;
    }
    const { undo, rewriting } = chosen;
    const policy = metadata.headers?.['content-security-policy'];
    const change = rewriting && (await import('../gateway/rewriter.ts')).createRewriter(rewriting, policy);
    const changes = undo || change ? { undo, change, deliveries } : undefined;
    const { contentLength: length, contentCoding } = metadata;
    const content = recordStart ? recordingStart(pieces, (start) => recordStart(start, contentCoding)) : pieces;
    await deliver(response, { status, headers, content, length, changes, spend });
  } finally {
    stream.stop();
  }
}

/** A copy: the memory of a piece is used again once it is sent. */
async function* recordingStart(
  content: AsyncIterable<Uint8Array>,
  note: (start: Uint8Array) => void,
): AsyncGenerator<Uint8Array, undefined> {
  let isFirst = true;
  for await (const piece of content) {
    if (isFirst) note(piece.slice(0, START));
    isFirst = false;
    yield piece;
  }
}
