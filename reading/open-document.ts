/** Opens a document: out of the copy that was kept where it is good, else from the content hosts. */
import type { ByteReader } from '../core/encoding/byte-reader.ts';
import { CodedError } from '../core/errors.ts';
import type { DocumentReader, OpenedDocument, ReadingContext } from '../core/object/document-reader.ts';
import type { ByteRange } from '../core/object/geometry.ts';
import { openDocument } from '../core/object/open-document.ts';
import { faultOf } from './host-faults.ts';
import { describeAt, expectationOf, openAt, payloadUrl, type WantedDocument } from './open-at.ts';
import {
  bytesIn,
  type DocumentSupply,
  fetchPayload,
  type HostAttempt,
  type Payload,
  type StoredCopy,
} from './payload.ts';

/** A document, and what its blocks come through. */
export interface OpenedHere extends OpenedDocument {
  readonly payload: Payload;
}

/** @throws as `openAt` */
export async function openWhole(
  supply: DocumentSupply,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<OpenedHere> {
  const stored = await openStored(supply, wanted, context);
  if (stored) return stored;
  return supply.ask(async (host) => {
    const opened = await withPayload(
      (reader, bytes) => supply.payload(reader, { bytes, host }),
      (follow) => openAt(fetchFor(supply, host), wanted, { ...context, supply: follow }),
    );
    return opened as OpenedHere; // failure to open it throws
  });
}

/** Fetches the content beside the head; it is released after the head has passed. */
function fetchFor({ path, entry, asksForContent }: DocumentSupply, { fetch }: HostAttempt): HostAttempt['fetch'] {
  if (!asksForContent || entry.content === undefined) return fetch;
  const url = payloadUrl(path, entry);
  const content = fetch(url);
  content.catch(() => undefined); // avoids an unhandled rejection: the opening awaits it
  return (urlPath, range) => (urlPath === url ? content : fetch(urlPath, range));
}

/** Reads only what describes the document. @throws as `openAt` */
export async function describe(
  supply: DocumentSupply,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<DocumentReader> {
  const stored = await openStored(supply, wanted, context);
  return stored?.reader ?? supply.ask((host) => describeAt(host.fetch, wanted, context));
}

/** A part of the payload of a document that was opened before, whole blocks from their beginning. @throws as `payloadAt` */
export async function openPart(supply: DocumentSupply, reader: DocumentReader, range: ByteRange): Promise<Payload> {
  const stored = await supply.find?.();
  const from = stored ? { stored, bytes: bytesIn(stored, reader, range) } : await fetchPayload(supply, reader, range);
  return supply.payload(reader, from, range.end);
}

/** `undefined` where there is no copy, or a damaged one, which is then dropped. */
async function openStored(
  supply: DocumentSupply,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<OpenedHere | undefined> {
  const stored = await supply.find?.();
  if (stored === undefined) return undefined;
  const opened = await withPayload(
    (reader, bytes) => supply.payload(reader, { bytes, stored }),
    (follow) => openCopy(stored, wanted, { ...context, supply: follow }),
  );
  if (opened === undefined) await supply.drop?.();
  return opened;
}

/** @returns `undefined` where the copy is damaged @throws what has nothing to do with its bytes: the key, and the like */
async function openCopy(
  stored: StoredCopy,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<OpenedDocument | undefined> {
  const { set, headLength } = wanted.entry;
  const object = set === undefined ? stored.from(0, headLength) : stored.from(0);
  try {
    return await openDocument(object, expectationOf(wanted), context, async () => stored.from(headLength));
  } catch (error) {
    if (error instanceof CodedError && faultOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Opens a document with the supply of its context, and gives the payload that was made there too. */
async function withPayload(
  payloadOf: (reader: DocumentReader, bytes: ByteReader) => Payload,
  open: (supply: NonNullable<ReadingContext['supply']>) => Promise<OpenedDocument | undefined>,
): Promise<OpenedHere | undefined> {
  let payload: Payload | undefined;
  const opened = await open((reader, bytes) => {
    payload = payloadOf(reader, bytes);
    return payload;
  });
  return opened && { ...opened, payload: payload as Payload };
}
