/** Opens a document: out of the cache where it is there and good, else from the content hosts. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { DocumentReader, OpenedDocument, ReadingContext } from '../../core/object/document-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import { describeAt, openAt, type WantedDocument } from '../../reading/open-at.ts';
import { openKept, payloadAt, withPayload } from '../../reading/payload.ts';
import type { Upstream } from '../network/upstream.ts';
import type { HostHealth } from '../site/host-health.ts';
import type { ObjectCache } from './cache/object-cache.ts';
import type { HostAttempt } from './content-source.ts';
import type { BlockOpener } from './opening/block-opener.ts';
import { Payload, type Supply } from './payload.ts';

/** What reading documents needs, for all sites together. */
export interface ContentAccess {
  readonly upstream: Upstream;
  readonly health: HostHealth;
  readonly cache: ObjectCache;
  readonly opener: BlockOpener;
}

export interface Opened extends OpenedDocument {
  /** What its blocks come through. */
  readonly payload: Payload;
}

/** @throws as `openAt` */
export async function openFor(supply: Supply, wanted: WantedDocument, context: ReadingContext): Promise<Opened> {
  const kept = await openStored(supply, wanted, context);
  if (kept) return kept;
  return supply.source.ask((attempt) => openFetched(supply, attempt, wanted, context));
}

/** Only what says what the document is. @throws as `openAt` */
export async function describeFor(
  supply: Supply,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<DocumentReader> {
  const kept = await openStored(supply, wanted, context);
  return kept?.reader ?? supply.source.ask((attempt) => describeAt(attempt.fetch, wanted, context));
}

/** A part of the payload of a document that was opened before, whole blocks from their beginning. @throws as `payloadAt` */
export async function openPart(supply: Supply, reader: DocumentReader, range: ByteRange): Promise<Payload> {
  const { cache, site, entry, source } = supply;
  const stored = cache.find(site, entry.head);
  if (stored) {
    source.hold(stored);
    const bytes = new ByteReader(stored.from(reader.head.length + range.start, reader.head.length + range.end));
    return new Payload(supply, reader, bytes, stored, range.end);
  }
  return source.ask(async (attempt) => {
    const bytes = await payloadAt(attempt.fetch, supply, reader, range);
    return new Payload(supply, reader, bytes, attempt, range.end);
  });
}

/** `undefined` where the cache has no copy, or a damaged one, which it then evicts. */
async function openStored(
  supply: Supply,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<Opened | undefined> {
  const { cache, site, entry, source } = supply;
  const stored = cache.find(site, entry.head);
  if (stored === undefined) return undefined;
  source.hold(stored);
  const opened = await withPayload(
    (reader, bytes) => new Payload(supply, reader, bytes, stored),
    (follow) => openKept(stored, wanted, { ...context, supply: follow }),
  );
  if (opened === undefined) cache.drop(site, entry.head);
  return opened;
}

async function openFetched(
  supply: Supply,
  attempt: HostAttempt,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<Opened> {
  const opened = await withPayload(
    (reader, bytes) => new Payload(supply, reader, bytes, attempt),
    (follow) => openAt(attempt.fetch, wanted, { ...context, supply: follow }),
  );
  return opened as Opened; // what cannot be opened throws
}
