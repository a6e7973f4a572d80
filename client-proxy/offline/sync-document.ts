/** Gets one document for a sync: its length, and its object into the cache. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import { openCarrier } from '../../core/object/carrier.ts';
import { readHead } from '../../core/object/read-head.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { ReadingError } from '../../reading/errors.ts';
import { expectationOf, objectUrl, type WantedDocument } from '../../reading/open-at.ts';
import { openWhole } from '../../reading/open-document.ts';
import { ContentSource } from '../documents/content-source.ts';
import { type ContentAccess, ReaderSupply } from '../documents/payload.ts';
import { ReaderError } from '../errors.ts';
import type { BoundSite } from '../site/bound-sites.ts';

export interface SyncContext {
  readonly access: ContentAccess;
  readonly bound: BoundSite;
  readonly description: SiteDescription;
  /** Seconds since 1970. */
  readonly now: () => number;
  readonly signal: AbortSignal | undefined;
}

/** The length of an object, as its signed head says it. */
export function measure(document: WantedDocument, context: SyncContext): Promise<number> {
  const { entry, path } = document;
  const range = entry.inPage ? undefined : { start: 0, end: entry.headLength }; // parts of a page are no parts of the object
  return withSource(document, context, (source) =>
    source.ask(async (attempt) => {
      const { status, body } = await attempt.fetch(objectUrl(path, entry), range);
      if (status !== 200 && status !== 206)
        throw new ReadingError('object-missing', `the content host answered ${status} when asked for ${path}`);
      const object = new ByteReader(entry.inPage ? openCarrier(body) : body);
      const head = await readHead(object, expectationOf(document));
      await body.return();
      return head.length + head.header.payloadLength;
    }),
  );
}

/** Fetches a document into the cache. @returns bytes of its object @throws ReaderError `output-failed`; as `openAt` */
export function fetchWhole(document: WantedDocument, context: SyncContext): Promise<number> {
  const { access, bound, now } = context;
  return withSource(document, context, async (source) => {
    const { path, entry } = document;
    const supply = new ReaderSupply({ ...access, site: bound.site, path, entry, source, synced: true });
    const opened = await openWhole(supply, document, { findKey: bound.keys.find, now: now() });
    source.opened();
    const { payload, content, reader } = opened;
    await payload.keepWhole();
    try {
      for (let piece = await content.next(); !piece.done; piece = await content.next()) payload.spend(piece.value); // blocks are kept as they pass
    } finally {
      payload.copy.stop();
    }
    if (!(await supply.kept()) && access.cache.find(bound.site, document.entry.head) === undefined)
      throw notKept(access);
    return reader.head.length + reader.payloadLength;
  });
}

async function withSource<Result>(
  { entry }: WantedDocument,
  { access, description, signal }: SyncContext,
  work: (source: ContentSource) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const source = new ContentSource({ ...access, origins: description.content, inPage: entry.inPage });
  const stop = () => source.end(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await work(source);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    source.end(new Error('nothing more is wanted'));
  }
}

function notKept({ cache: { directory, problem: cause } }: ContentAccess): ReaderError {
  const why = cause === undefined ? 'there is no room in it' : systemReason(cause);
  return new ReaderError('output-failed', `nothing can be kept in ${directory}: ${why}`, { cause });
}
