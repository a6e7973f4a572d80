/** Opens documents: out of what is kept where that is good, else from the content hosts, one after the other. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { DocumentReader, OpenedDocument, ReadingContext } from '../../core/object/document-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import { describeAt, openAt, payloadUrl, type WantedDocument } from '../../reading/open-at.ts';
import { openKept, payloadAt, withPayload } from '../../reading/payload.ts';
import type { HostAttempt } from '../fetching.ts';
import { askHosts } from './hosts.ts';
import { dropKept, findKept } from './kept-objects.ts';
import { Payload, type Supply } from './payload.ts';

export interface Opened extends OpenedDocument {
  readonly payload: Payload;
}

/** @throws as `openAt` */
export async function openWhole(supply: Supply, wanted: WantedDocument, context: ReadingContext): Promise<Opened> {
  const kept = await openCopy(supply, wanted, context);
  if (kept) return kept;
  return askHosts(supply.hosts, async (attempt) => {
    const opened = await withPayload(
      (reader, bytes) => new Payload(supply, reader, bytes, attempt),
      (follow) => openAt(withContent(attempt, supply), wanted, { ...context, supply: follow }),
    );
    return opened as Opened; // what cannot be opened throws
  });
}

/** Asks for the content of a public document beside its head: one round trip for both. What comes is released after the head has passed. */
function withContent({ fetch }: HostAttempt, { path, entry }: Supply): HostAttempt['fetch'] {
  if (entry.content === undefined) return fetch;
  const url = payloadUrl(path, entry);
  const content = fetch(url);
  content.catch(() => undefined); // told to whom asks
  return (urlPath, ...rest) => (urlPath === url ? content : fetch(urlPath, ...rest));
}

/** Only what says what the document is. @throws as `openAt` */
export async function describe(
  supply: Supply,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<DocumentReader> {
  const kept = await openCopy(supply, wanted, context);
  if (kept) return kept.reader;
  return askHosts(supply.hosts, async (attempt) => {
    const reader = await describeAt(attempt.fetch, wanted, context);
    attempt.end();
    return reader;
  });
}

/** A part of the payload of a document that was opened before, whole blocks from their beginning. @throws ReadingError */
export async function openPart(supply: Supply, reader: DocumentReader, range: ByteRange): Promise<Payload> {
  const kept = await findKept(supply.path, supply.entry);
  if (kept) {
    const bytes = new ByteReader(kept.from(reader.head.length + range.start, reader.head.length + range.end));
    return new Payload(supply, reader, bytes, kept, range.end);
  }
  return askHosts(supply.hosts, async (attempt) => {
    const bytes = await payloadAt(attempt.fetch, supply, reader, range);
    return new Payload(supply, reader, bytes, attempt, range.end);
  });
}

/** `undefined` where there is no copy, or a damaged one, which is then dropped. */
async function openCopy(supply: Supply, wanted: WantedDocument, context: ReadingContext): Promise<Opened | undefined> {
  const { path, entry } = supply;
  const kept = await findKept(path, entry);
  if (kept === undefined) return undefined;
  const opened = await withPayload(
    (reader, bytes) => new Payload(supply, reader, bytes, kept),
    (follow) => openKept(kept, wanted, { ...context, supply: follow }),
  );
  if (opened === undefined) await dropKept(path, entry);
  return opened;
}
